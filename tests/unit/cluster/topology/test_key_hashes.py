"""Goal: keys get the tokens that Dynomite gives them. Method: libmemcached's published values, murmur3's, hash tags.

The values for words are those of libmemcached's ``tests/hash_results.h``, from which Dynomite has its hashes.
"""

import pytest

from zonelab.cluster.topology.key_hashes import TOKENS, KeyHash, hash_function, hashed_part

WORDS = [
    "apple",
    "beat",
    "carrot",
    "daikon",
    "eggplant",
    "flower",
    "green",
    "hide",
    "ick",
    "jack",
    "kick",
    "lime",
    "mushrooms",
    "nectarine",
    "orange",
    "peach",
    "quant",
    "ripen",
    "strawberry",
    "tang",
    "up",
    "volumne",
    "when",
    "yellow",
    "zip",
]

PUBLISHED = {
    KeyHash.MURMUR: """4142305122 734504955 3802834688 4076891445 387802650 560515427 3274673488 3150339524 1527441970
    2728642900 3613992239 2938419259 2321988328 1145154116 4038540960 2224541613 264013145 3995512858 2400956718
    2346666219 926327338 442757446 1770805201 560483147 3902279934""",
    KeyHash.FNV1_32: """67176023 1190179409 2043204404 3221866419 2567703427 3787535528 4147287986 3500475733 344481048
    3865235296 2181839183 119581266 510234242 4248244304 1362796839 103389328 1449620010 182962511 3554262370
    3206747549 1551306158 4127558461 1889140833 2774173721 1180552018""",
    KeyHash.FNV1A_32: """280767167 2421315013 3072375666 855001899 459261019 3521085446 18738364 1625305005 2162232970
    777243802 3323728671 132336572 3654473228 260679466 1169454059 2698319462 1062177260 235516991 2218399068
    405302637 1128467232 3579622413 2138539289 96429129 2877453236""",
    KeyHash.FNV1A_64: """1488911807 2500855813 1510099634 1390325195 3647689787 3241528582 1669328060 2604311949
    734810122 1516407546 560948863 1767346780 561034892 4156330026 3716417003 3475297030 1518272172 227211583 3938128828
    126112909 3043416448 3131561933 1328739897 2455664041 2272238452""",
    KeyHash.MD5: """3195025439 2556848621 3724893440 3332385401 245758794 2550894432 121710495 3053817768 1250994555
    1862072655 2631955953 2951528551 1451250070 2820856945 2060845566 3646985608 2138080750 217675895 2230934345
    1234361223 3968582726 2455685270 1293568479 199067604 2042482093""",
    KeyHash.ONE_AT_A_TIME: "2297466611 3902465932 469785835 1937308741 261917617 3785641677 1439605128 1649152283",
    KeyHash.FNV1_64: "473199127 4148981457",
    KeyHash.CRC32A: "2838417488",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_words_have_their_published_hashes(name):
    expected = [int(number) for number in PUBLISHED[name].split()]
    assert [hash_function(name)(word.encode()) for word in WORDS[: len(expected)]] == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"", 0),
        (b"a", 0x3C2569B2),
        (b"ab", 0x9BBFD75F),
        (b"abc", 0xB3DD93FA),
        (b"abcd", 0x43ED676A),
        (b"hello", 0x248BFA47),
        (b"Hello world", 2911983372),
        (b"hello, world", 0x149BBB7F),
        (b"\xff" * 9, 0x140A9C1F),
    ],
)
def test_murmur3_gives_its_published_values_with_seed_0(key, expected):
    assert hash_function(KeyHash.MURMUR3)(key) == expected


@pytest.mark.parametrize(
    ("key", "expected"), [(b"\xff", 2925896852), ("caf\u00e9".encode(), 3650908318), (b"\x80\x7f", 1704427366)]
)
def test_one_at_a_time_takes_bytes_as_signed(key, expected):
    """Values of a C program that adds each byte as a ``char`` with a sign, as hashkit/dyn_one_at_a_time.c does."""
    assert hash_function(KeyHash.ONE_AT_A_TIME)(key) == expected


@pytest.mark.parametrize("name", list(KeyHash))
def test_every_hash_gives_a_token_for_keys_of_every_length_and_spreads_them(name):
    tokens = [hash_function(name)(b"key:%d" % number * (number % 5)) for number in range(1000)]
    assert all(0 <= token < TOKENS for token in tokens)
    quarters = [sum(token * 4 // TOKENS == quarter for token in tokens[1::5]) for quarter in range(4)]
    assert name in (KeyHash.FNV1_32, KeyHash.FNV1_64, KeyHash.FNV1A_32, KeyHash.FNV1A_64) or min(quarters) > 20, (
        quarters
    )


@pytest.mark.parametrize(
    ("key", "tag", "hashed"),
    [
        (b"user{42}:name", b"{}", b"42"),
        (b"user{42}:{43}", b"{}", b"42"),
        (b"a}b{c}d", b"{}", b"c"),
        (b"user$42$", b"$$", b"42"),
        (b"user{}", b"{}", b""),
        (b"{}a", b"{}", b""),
        (b"user{42", b"{}", b"user{42"),
        (b"user42}", b"{}", b"user42}"),
        (b"user{42}", None, b"user{42}"),
    ],
)
def test_between_the_characters_of_the_hash_tag_is_what_is_hashed(key, tag, hashed):
    assert hashed_part(key, tag) == hashed
