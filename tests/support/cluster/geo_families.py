"""Commands on places and on sketches as templates of ``command_families``."""

from collections.abc import Sequence

GEO_POOLS: dict[str, Sequence[str | bytes]] = {
    "lon": [
        *["13.361389", "15.087269", "2.349014", "-122.27652", "181", "0", "x", "179.9", "-180", "13.4", "180"],
        *["-71.05", "139.69", "14.9", "2.35", "-179.5", "0.00001", "12.123456789", "nan", "1e-5"],
    ],
    "lat": [
        *["38.115556", "37.502669", "48.864716", "37.805186", "86", "0", "x", "85.05", "-85.05112878", "38.2"],
        *["-33.87", "35.68", "37.4", "48.9", "85.05112878", "-0.00001", "67", "81", "-70.5", "inf"],
    ],
    "good_lon": [f"{-179.5 + 7.31 * number:.4f}" for number in range(49)],
    "good_lat": [f"{-84.5 + 4.37 * number:.4f}" for number in range(39)],
    "near_lon": [f"{-40 + 3.17 * number:.4f}" for number in range(30)],
    "near_lat": [f"{-60 + 4.19 * number:.4f}" for number in range(29)],
    "any_score": [*(str(1234567 + 73786976294838 * number) for number in range(61)), "-1", "inf"],
    "unit": ["m", "km", "ft", "mi", "KM", "cm", "km", "m"],
    "dist": ["100", "200", "1000", "5000", "20000", "0", "-1", "x", "1e7", "300000", "0.5", "50000000"],
    "element": [*(str(number) for number in range(400)), "", b"\x00\xff", "hello", "a somewhat longer element", "é"],
    "sketch": [
        *[
            "HYLL",
            b"HYLL\x01" + bytes(11) + b"\x7f\xff",
            b"HYLL\x01" + bytes(11) + b"\x7f\xfe",
            b"HYLL\x02" + bytes(11),
        ],
        *[
            b"HYLL\x00" + bytes(11),
            b"HYLL\x01" + bytes(11),
            b"HYLL\x01" + bytes(10) + b"\x80\x7f\xff",
            b"HYLL" + bytes(12300),
        ],
        *[b"HYLL\x01" + bytes(11) + b"\x84\x88\x7f\xfd", "x"],
    ],
}

GEO = """
    GEOADD {k} [ (NX|XX) ] [ CH ] < {lon} {lat} {m} >
    GEOADD {k} < {good_lon} {good_lat} {m} >
    GEOADD {k} < {good_lon} {good_lat} {m} >
    GEOADD {k} < {good_lon} {good_lat} {m} >
    GEODIST {k} {m} {m} [ {unit} ]
    (GEOHASH|GEOPOS) {k} < {m} >
    GEOSEARCH {k} FROMMEMBER {m} BYRADIUS {dist} {unit} [ (ASC|DESC) ] [ COUNT {n} [ ANY ] ] [ WITHCOORD ]
    GEOSEARCH {k} FROMLONLAT {lon} {lat} BYBOX {dist} {dist} {unit} [ COUNT {n} ] [ WITHDIST ] [ WITHHASH ]
    GEOSEARCH {k} FROMLONLAT {good_lon} {good_lat} BYBOX {dist} {dist} km [ (ASC|DESC) ] [ WITHDIST ] [ WITHCOORD ]
    GEOSEARCH {k} FROMLONLAT {good_lon} {good_lat} BYRADIUS {dist} km [ (ASC|DESC) ] [ WITHDIST ]
    GEOSEARCH {k} BYPOLYGON (3|4|x|2) {near_lon} {near_lat} {near_lon} {near_lat} {near_lon} {near_lat} [ WITHDIST ]
    GEOSEARCH {k} BYPOLYGON 4 -20 -10 30 (-10|5) 20 60 (-10|-150) 70 [ (ASC|DESC) ] [ WITHDIST ] [ WITHCOORD ]
    GEOSEARCH {k} (FROMMEMBER|BYRADIUS|ANY) {m} [ FROMLONLAT {lon} {lat} ] [ BYRADIUS {dist} {unit} ] ASC DESC ASC
    GEOSEARCHSTORE {k} {k} FROMMEMBER {m} BYRADIUS {dist} {unit} [ (ASC|DESC) ] [ STOREDIST ]
    GEOSEARCHSTORE {k} {k} FROMLONLAT {good_lon} {good_lat} BYBOX {dist} {dist} km [ STOREDIST ] [ WITHDIST ]
    (GEORADIUS|GEORADIUS_RO) {k} {lon} {lat} {dist} {unit} [ WITHDIST ] [ STORE {k} ]
    (GEORADIUSBYMEMBER|GEORADIUSBYMEMBER_RO) {k} {m} {dist} {unit} [ (ASC|DESC) ] [ STOREDIST {k} ]
    ZRANGE {k} 0 -1 WITHSCORES
    (ZREM|ZSCORE) {k} {m}
    ZADD {k} {any_score} {m}
"""

SKETCHES = """
    PFADD {k} [ < {element} > ]
    PFADD {k} < {element} >
    PFADD {k} < {element} {element} {element} {element} {element} {element} >
    PFCOUNT < {k} >
    PFCOUNT {k}
    PFMERGE {k} [ < {k} > ]
    GET {k}
    STRLEN {k}
    APPEND {k} (!|xy)
    SET {k} {sketch}
    DEL {k}
    SETRANGE {k} (4|5|8|15) (a|b)
"""
