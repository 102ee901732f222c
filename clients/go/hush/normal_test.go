package hush

import (
	"math/rand"
	"sort"
	"strings"
	"testing"
	"unicode"
)

// plainForms takes normal forms by Unicode's own words, in as many steps as a text needs.
type plainForms struct{ f *forms }

func (p plainForms) form(text []rune, lower bool) []rune {
	if lower {
		text = p.lowered(text)
	}
	return p.composed(text)
}

func (p plainForms) composed(text []rune) []rune {
	var apart []rune
	for _, r := range text {
		if s := r - syllable; s >= 0 && s < syllables {
			apart = append(apart, lead+s/(vowels*tails), vowel+s%(vowels*tails)/tails)
			if s%tails != 0 {
				apart = append(apart, tail+s%tails)
			}
			continue
		}
		for _, part := range p.f.of(r).parts[:p.f.of(r).count] {
			apart = append(apart, r+part)
		}
	}
	class := func(r rune) byte { return p.f.of(r).class }
	for start := 0; start < len(apart); {
		end := start + 1
		if class(apart[start]) != 0 {
			for end < len(apart) && class(apart[end]) != 0 {
				end++
			}
			marks := apart[start:end]
			sort.SliceStable(marks, func(i, j int) bool { return class(marks[i]) < class(marks[j]) })
		}
		start = end
	}
	var found []rune
	starter, before := -1, byte(0)
	for _, r := range apart {
		if starter >= 0 && (len(found) == starter+1 || before < class(r)) {
			if whole := p.join(found[starter], r); whole != 0 {
				found[starter] = whole
				continue
			}
		}
		if class(r) == 0 {
			starter = len(found)
		}
		before, found = class(r), append(found, r)
	}
	return found
}

func (p plainForms) join(one, other rune) rune {
	if l, v := one-lead, other-vowel; l >= 0 && l < leads && v >= 0 && v < vowels {
		return syllable + (l*vowels+v)*tails
	}
	if s, t := one-syllable, other-tail; s >= 0 && s < syllables && s%tails == 0 && t > 0 && t < tails {
		return one + t
	}
	return p.f.joined[int(p.f.of(one).row)*p.f.columns+int(p.f.of(other).column)]
}

func (p plainForms) lowered(text []rune) []rune {
	var found []rune
	for i, r := range text {
		switch {
		case r == 'İ':
			found = append(found, 'i', '\u0307')
		case r == 'Σ' && p.lastOfWord(text, i):
			found = append(found, 'ς')
		default:
			found = append(found, lower14(r))
		}
	}
	return found
}

func (plainForms) lastOfWord(text []rune, at int) bool {
	before, after := at-1, at+1
	for before >= 0 && caseIgnored(text[before]) {
		before--
	}
	for after < len(text) && caseIgnored(text[after]) {
		after++
	}
	return before >= 0 && cased(text[before]) && !(after < len(text) && cased(text[after]))
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase, cased14)
}

func caseIgnored(r rune) bool {
	if strings.ContainsRune(ignoredMarks, r) {
		return true
	}
	return r != 0x1734 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk, ignored14)
}

// someRunes are the characters about which forms have most to say, and a few others.
func someRunes() []rune {
	found := []rune("aA zZ0\x00\t.'-ΣσςİıßẞǅＡ日😀각가간\u1100\u1161\u11a8\u0345\u0301\u0307\u0323\u05b8\u3099かがΐᾂ\u0f73\U0010ffff\U00011935\U00011930")
	for r := rune(0); r < codePoints; r++ {
		if f := known.of(r); f.row != 0 || f.column != 0 || f.class != 0 {
			found = append(found, r)
		}
	}
	return found
}

// differs says whether a normaliser and the plain one give another form of one of these texts.
func differs(n *normaliser, texts [][]rune, lower bool) bool {
	for _, text := range texts {
		room := append(append([]rune{}, text...), make([]rune, 16-len(text))...)
		found, count := n.formC(room, len(text), lower)
		if string(found[:count]) != string(plainForms{formsOf()}.form(text, lower)) {
			return true
		}
		for _, r := range found[count:] {
			if r != 0 {
				return true
			}
		}
	}
	return false
}

func TestNormalFormsAreThePlainOnes(t *testing.T) {
	n, source := newNormaliser(), rand.New(rand.NewSource(3))
	some := someRunes()
	var texts [][]rune
	for i := 0; i < 3000; i++ {
		text := make([]rune, source.Intn(17))
		for j := range text {
			text[j] = some[source.Intn(len(some))]
			if source.Intn(2) == 0 {
				text[j] = some[source.Intn(60)]
			}
		}
		texts = append(texts, text)
	}
	for _, r := range some {
		texts = append(texts, []rune{r})
	}
	for r := rune(0); r < codePoints; r += rune(1 + source.Intn(400)) {
		if r < 0xd800 || r > 0xdfff {
			texts = append(texts, []rune{'Α', r, 'Σ', r, 'x'}) // cased or not, ignored or not
		}
	}
	for _, lower := range []bool{true, false} {
		if differs(n, texts, lower) {
			t.Error("a normal form is not the plain one")
		}
	}
	// Marks that are left in their order are noticed, and so are sigmas at the ends of words that are taken for others.
	flat := *formsOf()
	flat.all = append([]form{}, flat.all...)
	for i := range flat.all {
		flat.all[i].class = byte(least(int(flat.all[i].class), 1))
	}
	caseless := *formsOf()
	caseless.all = append([]form{}, caseless.all...)
	for i := range caseless.all {
		caseless.all[i].ignored = 0
	}
	for _, broken := range []*forms{&flat, &caseless} {
		if !differs(&normaliser{broken, broken.of}, texts, true) {
			t.Error("a normaliser that is broken is not noticed")
		}
	}
}
