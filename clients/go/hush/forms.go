package hush

import (
	_ "embed"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// formTable has decompositions and combining classes of Unicode 14. spec/forms.py writes it, and says what its lines mean.
//
//go:embed forms.txt
var formTable string

type forms struct {
	parts   map[rune][2]rune // the second one is 0 if there is one part
	joined  map[[2]rune]rune
	classes map[rune]byte
}

var (
	readForms sync.Once
	known     forms
)

func formsOf() *forms {
	readForms.Do(func() {
		known = forms{map[rune][2]rune{}, map[[2]rune]rune{}, map[rune]byte{}}
		for _, line := range strings.Split(strings.TrimSpace(formTable), "\n") {
			items := strings.Split(line, " ")
			if ends := strings.Split(items[0], "-"); len(ends) == 2 {
				for r := codePoint(ends[0]); r <= codePoint(ends[1]); r++ {
					known.classes[r] = byte(codePoint(items[1]))
				}
				continue
			}
			whole, pair := codePoint(items[0]), [2]rune{codePoint(items[1])}
			if len(items) > 2 {
				pair[1] = codePoint(items[2])
			}
			known.parts[whole] = pair
			if len(items) > 3 {
				known.joined[pair] = whole
			}
		}
	})
	return &known
}

// codePoint reads a number of the table, which is part of this package.
func codePoint(text string) rune {
	number, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		panic(err)
	}
	return rune(number)
}

// Hangul syllables are a first consonant, a vowel, and maybe a last consonant, all of them numbered in order.
const (
	syllable, lead, vowel, tail = 0xac00, 0x1100, 0x1161, 0x11a7
	leads, vowels, tails        = 19, 21, 28
	syllables                   = leads * vowels * tails
)

// composed is Unicode's normal form C: characters are taken apart, marks are put in their order, and what can be joined is.
// How long that takes depends on the marks of a text.
func composed(text []rune) []rune {
	f := formsOf()
	var apart []rune
	for _, r := range text {
		apart = f.decompose(apart, r)
	}
	for start := 0; start < len(apart); {
		end := start + 1
		if f.classes[apart[start]] != 0 {
			for end < len(apart) && f.classes[apart[end]] != 0 {
				end++
			}
			marks := apart[start:end]
			sort.SliceStable(marks, func(i, j int) bool { return f.classes[marks[i]] < f.classes[marks[j]] })
		}
		start = end
	}
	return f.compose(apart)
}

func (f *forms) decompose(found []rune, r rune) []rune {
	if s := r - syllable; s >= 0 && s < syllables {
		found = append(found, lead+s/(vowels*tails), vowel+s%(vowels*tails)/tails)
		if s%tails != 0 {
			found = append(found, tail+s%tails)
		}
		return found
	}
	parts, ok := f.parts[r]
	if !ok {
		return append(found, r)
	}
	found = f.decompose(found, parts[0])
	if parts[1] != 0 {
		found = append(found, parts[1]) // the second part has no parts
	}
	return found
}

// compose joins each character with the last starter before it, unless a mark of the same or a higher class is between them.
func (f *forms) compose(apart []rune) []rune {
	found := make([]rune, 0, len(apart))
	starter, before := -1, byte(0)
	for _, r := range apart {
		class := f.classes[r]
		if starter >= 0 && (len(found) == starter+1 || before < class) {
			if whole, ok := f.join(found[starter], r); ok {
				found[starter] = whole
				continue
			}
		}
		if class == 0 {
			starter = len(found)
		}
		before = class
		found = append(found, r)
	}
	return found
}

func (f *forms) join(one, other rune) (rune, bool) {
	if l, v := one-lead, other-vowel; l >= 0 && l < leads && v >= 0 && v < vowels {
		return syllable + (l*vowels+v)*tails, true
	}
	if s, t := one-syllable, other-tail; s >= 0 && s < syllables && s%tails == 0 && t > 0 && t < tails {
		return one + t, true
	}
	whole, ok := f.joined[[2]rune{one, other}]
	return whole, ok
}

// lowered maps to lower case by Unicode's full mapping, without a language. One character becomes two, and a sigma at the
// end of a word is another letter.
func lowered(text []rune) []rune {
	found := make([]rune, 0, len(text)+1)
	for i, r := range text {
		switch {
		case r == 'İ':
			found = append(found, 'i', '\u0307')
		case r == 'Σ' && lastOfWord(text, i):
			found = append(found, 'ς')
		default:
			found = append(found, lower14(r))
		}
	}
	return found
}

// lastOfWord says whether a cased letter comes before a place and none after it, apart from characters that case ignores.
func lastOfWord(text []rune, at int) bool {
	before := at - 1
	for before >= 0 && caseIgnored(text[before]) {
		before--
	}
	after := at + 1
	for after < len(text) && caseIgnored(text[after]) {
		after++
	}
	return before >= 0 && cased(text[before]) && !(after < len(text) && cased(text[after]))
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase, cased14)
}

func caseIgnored(r rune) bool {
	if strings.ContainsRune("'.:^`\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r) {
		return true
	}
	// Unicode 14 took U+1734 out of the marks.
	return r != 0x1734 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk, ignored14)
}
