"""What the tests of presented forms share: German words, a colour, and texts that a page must not read as markup."""

from __future__ import annotations

GERMAN = {"thanks": "Danke & bis <b>bald</b>!", "language": "de", "accent": "#ffd400"}
SCRIPT = "<script>alert(1)</script>"
CHECK_DE, SEND_DE = "Meine Antworten prüfen", "Ja, Bericht senden"
