"""Answers of the libraries of scripts on a Valkey 9.1 server: a part of ``redis_cases``, in the same form."""

from support.cluster.redis_script_cases import IN_SCRIPT, script

from zonelab.engine.ports import ServerError


def fails(body, problem):
    """The library complains at the line of the script."""
    return script(body, ServerError(f"ERR user_script:1: {problem}{IN_SCRIPT}"))


LIBRARY_CASES = [
    (
        "scripts have cjson",
        [
            script("return cjson.encode({1,2,'x',true,false,{a=1}})", b'[1,2,"x",true,false,{"a":1}]'),
            script("return cjson.encode({})", b"{}"),
            script(
                "return cjson.encode({a=1,b={c={1,2}}, name='x/y\"\\n'})",
                b'{"a":1,"name":"x\\/y\\"\\n","b":{"c":[1,2]}}',
            ),
            fails("return cjson.encode({[1]=1,[20]=2})", "Cannot serialise table: excessively sparse array"),
            script("return cjson.encode({[1]=1,[3]=2})", b"[1,null,2]"),
            fails("return cjson.encode(0/0)", "Cannot serialise number: must not be NaN or Inf"),
            fails("return cjson.encode(print)", "Script attempted to access nonexistent global variable 'print'"),
            fails("return cjson.encode(redis.call)", "Cannot serialise function: type not supported"),
            script("return cjson.encode(cjson.null)", b"null"),
            script("return cjson.encode(nil)", b"null"),
            fails("return cjson.encode()", "bad argument #1 to 'encode' (expected 1 argument)"),
            fails("return cjson.encode(1,2)", "bad argument #1 to 'encode' (expected 1 argument)"),
            script("return cjson.encode(1.5e300)", b"1.5e+300"),
            script("return cjson.encode(12345678901234567890)", b"1.2345678901235e+19"),
            script("return cjson.encode({[1.5]=1})", b'{"1.5":1}'),
            fails("return cjson.encode({[true]=1})", "Cannot serialise boolean: table key must be a number or string"),
            script("return cjson.encode('\\1\\127\\200')", b'"\\u0001\\u007f\xc8"'),
            script(
                'return cjson.decode(\'{"a":[1,2,{"b":null}],"c":"\\\\u00e9\\\\ud83d\\\\ude00"}\').c',
                b"\xc3\xa9\xf0\x9f\x98\x80",
            ),
            script("return cjson.decode('[1,2,null,3]')[3] == cjson.null", 1),
            script("return type(cjson.null)", b"userdata"),
            script("return {cjson.decode('[1,2,null,3.7,\"x\",true,false]')}", [[1, 2, None, 3, b"x", 1, None]]),
            fails("return cjson.decode('{')", "Expected object key string but found T_END at character 2"),
            fails("return cjson.decode('')", "Expected value but found T_END at character 1"),
            fails("return cjson.decode('[1,]')", "Expected value but found T_ARR_END at character 4"),
            fails("return cjson.decode('{\"a\" 1}')", "Expected colon but found T_NUMBER at character 6"),
            fails("return cjson.decode('{1:2}')", "Expected object key string but found T_NUMBER at character 2"),
            fails("return cjson.decode('[1 2]')", "Expected comma or array end but found T_NUMBER at character 4"),
            fails(
                'return cjson.decode(\'{"a":1 "b"}\')', "Expected comma or object end but found T_STRING at character 8"
            ),
            fails("return cjson.decode('\"abc')", "Expected value but found unexpected end of string at character 5"),
            fails("return cjson.decode('\"a\\\\x\"')", "Expected value but found invalid escape code at character 3"),
            fails(
                "return cjson.decode('\"\\\\ud800\"')",
                "Expected value but found invalid unicode escape code at character 2",
            ),
            fails("return cjson.decode('tru')", "Expected value but found invalid token at character 1"),
            fails("return cjson.decode('1 2')", "Expected the end but found T_NUMBER at character 3"),
            script("return cjson.decode(12)", 12),
            fails("return cjson.decode(nil)", "bad argument #1 to 'decode' (string expected, got nil)"),
            script("return cjson.decode('nan') ~= 1", 1),
            script("return tostring(cjson.decode('0x10'))", b"16"),
            script("return tostring(cjson.decode('-1.5e3'))", b"-1500"),
            script(
                "return cjson.encode(cmsgpack.unpack(cmsgpack.pack({name='x',opts={1,2,3}})))",
                b'{"name":"x","opts":[1,2,3]}',
            ),
            fails("cjson.x = 1", "Attempt to modify a readonly table"),
            fails("cjson.encode = 1", "Attempt to modify a readonly table"),
            script("return cjson._VERSION", b"2.1.0"),
            script("return tostring(cjson.decode('[1e5]')[1])", b"100000"),
            script("return pcall(cjson.decode, 'x')", None),
            script(
                "local ok, e = pcall(cjson.decode, 'x') return e",
                b"Expected value but found invalid token at character 1",
            ),
            script("return select(2, pcall(cjson.encode, 0/0))", b"Cannot serialise number: must not be NaN or Inf"),
        ],
    ),
    (
        "scripts have cmsgpack",
        [
            script("return cmsgpack.pack({1,2,3})", b"\x93\x01\x02\x03"),
            script("return cmsgpack.pack({a=1})", b"\x81\xa1a\x01"),
            script(
                "return cmsgpack.pack(1,-1,127,128,255,256,65535,65536,4294967296)",
                b"\x01\xff\x7f\xcc\x80\xcc\xff\xcd\x01\x00\xcd\xff\xff\xce\x00\x01\x00\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00",
            ),
            script(
                "return cmsgpack.pack(-32,-33,-128,-129,-32768,-32769,-2147483649)",
                b"\xe0\xd0\xdf\xd0\x80\xd1\xff\x7f\xd1\x80\x00\xd2\xff\xff\x7f\xff\xd3\xff\xff\xff\xff\x7f\xff\xff\xff",
            ),
            script("return cmsgpack.pack({})", b"\x90"),
            script("return cmsgpack.pack({[1]='a',[3]='b'})", b"\x82\x01\xa1a\x03\xa1b"),
            fails("return cmsgpack.pack()", "bad argument #0 to 'pack' (MessagePack pack needs input.)"),
            script("return cmsgpack.unpack(cmsgpack.pack({1,{a='x'},'y'}))", [1, [], b"y"]),
            script("return {cmsgpack.unpack(cmsgpack.pack(1,2,'x'))}", [1, 2, b"x"]),
            script("return {cmsgpack.unpack_one(cmsgpack.pack(1,2,'x'))}", [1, 1]),
            script("return {cmsgpack.unpack_one(cmsgpack.pack(1,2,'x'), 2)}", [-1, b"x"]),
            script("return {cmsgpack.unpack_limit(cmsgpack.pack(1,2,'x'), 2)}", [2, 1, 2]),
            fails("return cmsgpack.unpack('\\147\\1')", "Missing bytes in input."),
            fails("return cmsgpack.unpack('\\193')", "Bad data format in input."),
            script("return cmsgpack.unpack('')", None),
            script("return cmsgpack.unpack(1)", 49),
            script("return {cmsgpack.unpack(cmsgpack.pack({[1]=1,[2]=2,x=3}))}", [[1, 2]]),
            script("return cmsgpack._NAME", b"cmsgpack"),
            script("return cmsgpack._VERSION", b"lua-cmsgpack 0.4.0"),
            fails("return cmsgpack.unpack_one('abc', 7)", "Start offset 7 greater than input length 3."),
            fails(
                "return cmsgpack.unpack_one('abc', -1)", "Invalid request to unpack with offset of -1 and limit of 3."
            ),
            fails(
                "return cmsgpack.unpack_limit('abc', -1)", "Invalid request to unpack with offset of 0 and limit of 3."
            ),
            script("return cmsgpack.pack(redis.call)", b"\xc0"),
            fails("return cmsgpack.unpack()", "bad argument #1 to 'unpack' (string expected, got no value)"),
        ],
    ),
    (
        "scripts have struct",
        [
            script("return struct.pack('>I2h','1',-2)", b"\x00\x01\xff\xfe"),
            script("return struct.pack('<i4Bs', 100000, 300, 'ab')", b"\xa0\x86\x01\x00,ab\x00"),
            script("return struct.pack('>d', 1.5)", b"?\xf8\x00\x00\x00\x00\x00\x00"),
            script("return struct.pack('fc3x', 1.5, 'abcd')", b"\x00\x00\xc0?abc\x00"),
            script("return struct.pack('c0', 'abcd')", b"abcd"),
            fails("return struct.pack('c5', 'abcd')", "bad argument #3 to 'pack' (string too short)"),
            script("return struct.pack('!bh', 1, 2)", b"\x01\x00\x02\x00"),
            script("return struct.pack('!4bl', 1, 2)", b"\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"),
            script("return {struct.unpack('>I2h', struct.pack('>I2h', 513, -2))}", [513, -2, 5]),
            script("return {struct.unpack('Bc0', '\\3abcdef')}", [b"abc", 5]),
            script("return {struct.unpack('s', 'abc\\0def')}", [b"abc", 5]),
            fails("return {struct.unpack('I4', 'abc')}", "bad argument #2 to 'unpack' (data string too short)"),
            script("return {struct.unpack('B', 'abc', 2)}", [98, 3]),
            script("return struct.size('>I2hdB')", 13),
            fails("return struct.size('s')", "bad argument #1 to 'size' (option 's' has no fixed size)"),
            fails("return struct.size('c0')", "bad argument #1 to 'size' (option 'c0' has no fixed size)"),
            fails("return struct.pack('y', 1)", "bad argument #1 to 'pack' (invalid format option 'y')"),
            fails("return struct.pack('i40', 1)", "integral size 40 is larger than limit of 32"),
            fails("return struct.pack('i', 'x')", "bad argument #2 to 'pack' (number expected, got string)"),
            fails("return struct.pack('!3i', 1)", "alignment 3 is not a power of 2"),
            fails("return struct.unpack('i', 5)", "bad argument #2 to 'unpack' (data string too short)"),
            script("return struct.size('y')", 0),
            fails("return struct.pack()", "bad argument #1 to 'pack' (string expected, got no value)"),
        ],
    ),
    (
        "scripts have bit",
        [
            script(
                "return {bit.band(255, 15), bit.bor(1,2,4), bit.bxor(5,1), bit.bnot(0), bit.bswap(1)}",
                [15, 7, 4, -1, 16777216],
            ),
            script("return {bit.lshift(1,31), bit.rshift(-1,28), bit.arshift(-8,1)}", [-2147483648, 15, -4]),
            script("return {bit.rol(0x12345678,8), bit.ror(0x12345678,8)}", [878082066, 2014458966]),
            script("return {bit.tobit(2^32+5), bit.tobit(1.5), bit.tobit(2.5)}", [5, 2, 2]),
            script(
                "return {bit.tohex(255), bit.tohex(255,4), bit.tohex(255,-4), bit.tohex(-1,100)}",
                [b"000000ff", b"00ff", b"00FF", b"ffffffff"],
            ),
            fails("return bit.band()", "bad argument #1 to 'band' (number expected, got no value)"),
            fails("return bit.band('x')", "bad argument #1 to 'band' (number expected, got string)"),
            fails("return bit.lshift(1)", "bad argument #2 to 'lshift' (number expected, got no value)"),
            script("return bit.tobit(1e15)", -1530494976),
            fails("return bit.tohex()", "bad argument #1 to 'tohex' (number expected, got no value)"),
        ],
    ),
]
