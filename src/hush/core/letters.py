"""Which letters follow each other: the tables of `experiments/letters.py`, as lengths of the words of a code.

A row of CODE belongs to the letter that comes before, the last one to the beginning of a text. A row of UNICODE belongs
to the bytes that a character still lacks. The last symbol of a row is the end.
"""

from __future__ import annotations

LETTERS = "abcdefghijklmnopqrstuvwxyz "
CODE = (
    "c655a86e5f6452d6f34377795b44",
    "3edd2dbb48f37c3dg4694feg3f66",
    "4e893de26e54ac2de6737eee7e66",
    "58f63b7e4gg8be48g5397bcg6f22",
    "4954677b7da564548335c5767d33",
    "5dcc46db3ed7cb3ce4855dceae22",
    "49a92d744gb7a54dg3575eefea33",
    "39fe1ffe4ffc7d3ff7a75fee8d44",
    "6545556ace744247e533b5e8e988",
    "4aa93ab79fc9a92ae8186badbf77",
    "7dc61ddb5fe9c4bcfb3aaedfaf33",
    "3ff427bb4gb3cd39ga565a9g5g44",
    "34e92efd3ff86635fc6c5fe7af43",
    "6a633a4b6f97c649fd335bbf6f33",
    "8876737d7a854365d2544649cb55",
    "4bdd2e996ff37936f3355faf6f55",
    "798869a87ca28778c5771a9c9c44",
    "4c952a6d4f79664ba54466af5e33",
    "6c7f3ba54f797e588e53686f7f22",
    "4b6h3e924hg7ac48g5457e6e7g33",
    "6557376c7gf43385g333eee9ab66",
    "2db81c7a3ddb5a7bda896dcddd65",
    "4ec63ae32fe7a43cf54ade9f9f44",
    "2b3a4ab94fda7994e993acb75f33",
    "95bd6eed9gfd8548gc45ef9feb21",
    "698718953da78758c756899b9d43",
    "3545556548755544744377497abb",
    "3545556548755544744377497abb",
)
UNICODE = (
    (
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb4bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb576"
        "646755a856546954467797abbbaaiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiihhhhhhhhhhhhhhhhhhhhhhhh959999"
        "99999999999999999999999988888888888888885gggghhhhhhhhhhh3"
    ),
    (
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
        "ffffffffffffffffffffffffffff7666666666666666666666666666666666666666666666666666666666666666ffeeeeee"
        "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
    ),
    (
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
        "ffffffffffffffffffffffffffff7666666666666666666666666666666666666666666666666666666666666666ffeeeeee"
        "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
    ),
    (
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
        "ffffffffffffffffffffffffffff7777777777777777777777777777777266666666666666666666666666666666ffeeeeee"
        "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
    ),
)
