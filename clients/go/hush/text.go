package hush

import (
	"unicode"
	"unicode/utf8"
)

// printable says whether text has from low to high code points, all of them printable. The categories of unicode.IsPrint
// are those that the specification allows: letters, marks, numbers, punctuation, symbols, and the space U+0020.
func printable(text string, low, high int) bool {
	if n := utf8.RuneCountInString(text); n < low || n > high || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && !unicode.Is(unicode14, r) {
			return false
		}
	}
	return true
}
