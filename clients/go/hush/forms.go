package hush

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// formTable has decompositions and combining classes of Unicode 14. spec/forms.py writes it, and says what its lines mean.
//
//go:embed forms.txt
var formTable string

const (
	mostParts    = 4 // of a character that is taken apart
	codePoints   = 0x110000
	dottedI      = codePoints // no character: stands for the two small letters of İ
	sigma        = 'Σ'
	lastSigma    = 'ς'
	page         = 256
	ignoredMarks = "'.:^`\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a" // by case
)

// form is what lowering and composing must know of a character. Other characters are given by their distance from it, so
// that the many without anything special share one form.
type form struct {
	class          byte   // by which marks are ordered
	cased, ignored byte   // 1 if it has a case, and if case ignores it
	count          byte   // how many parts it has when it is taken apart
	row, column    uint16 // its place in the table of joined pairs, as the first and as the second of them; 0: it has none
	small          rune   // the distance to its small letter
	parts          [mostParts]rune
}

// forms finds the form of a character by its bytes: no step depends on which one it is.
type forms struct {
	pages   [codePoints/page + 1]uint16
	places  [][page]uint16
	all     []form
	joined  []rune // by row and column; 0: they are not joined
	columns int
}

func (f *forms) of(r rune) *form { return &f.all[f.places[f.pages[r/page]][r%page]] }

var (
	readForms sync.Once
	known     *forms
)

// formsOf has the table of all characters. Plans with texts call it when they are read, so that no text waits for it.
func formsOf() *forms {
	readForms.Do(func() { known = madeForms(strings.Split(strings.TrimSpace(formTable), "\n")) })
	return known
}

func madeForms(lines []string) *forms {
	found, parts, joined := map[rune]*form{}, map[rune][]rune{}, map[[2]rune]rune{}
	at := func(r rune) *form {
		if found[r] == nil {
			found[r] = &form{count: 1}
		}
		return found[r]
	}
	for _, line := range lines {
		items := strings.Split(line, " ")
		if ends := strings.Split(items[0], "-"); len(ends) == 2 {
			for r := codePoint(ends[0]); r <= codePoint(ends[1]); r++ {
				at(r).class = byte(codePoint(items[1]))
			}
			continue
		}
		whole := codePoint(items[0])
		parts[whole] = []rune{codePoint(items[1])}
		if len(items) > 2 {
			parts[whole] = append(parts[whole], codePoint(items[2]))
		}
		if len(items) > 3 {
			joined[[2]rune{parts[whole][0], parts[whole][1]}] = whole
		}
	}
	var apart func(r rune) []rune
	apart = func(r rune) []rune {
		if parts[r] == nil {
			return []rune{r}
		}
		return append(apart(parts[r][0]), parts[r][1:]...) // the second part has no parts
	}
	take := func(r rune, parts []rune) {
		for i, part := range parts {
			at(r).parts[i] = part - r
		}
		at(r).count = byte(len(parts))
	}
	for whole := range parts {
		take(whole, apart(whole))
	}
	for r, small := range smallLetters() {
		at(r).small = small - r
	}
	take(dottedI, []rune{'i', '\u0307'})
	for _, table := range []*unicode.RangeTable{unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase, cased14} {
		each(table, func(r rune) { at(r).cased = 1 })
	}
	for _, table := range []*unicode.RangeTable{unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk, ignored14} {
		each(table, func(r rune) { at(r).ignored = 1 })
	}
	at(0x1734).ignored = 0 // Unicode 14 took it out of the marks
	for _, r := range ignoredMarks {
		at(r).ignored = 1
	}
	rows, columns := 1, 1
	for pair := range joined {
		if one := at(pair[0]); one.row == 0 {
			one.row, rows = uint16(rows), rows+1
		}
		if other := at(pair[1]); other.column == 0 {
			other.column, columns = uint16(columns), columns+1
		}
	}
	f := &forms{places: make([][page]uint16, 1), all: []form{{count: 1}}, joined: make([]rune, rows*columns), columns: columns}
	for pair, whole := range joined {
		f.joined[int(at(pair[0]).row)*columns+int(at(pair[1]).column)] = whole
	}
	numbers := map[form]uint16{f.all[0]: 0}
	for r, one := range found {
		number, ok := numbers[*one]
		if !ok {
			number = uint16(len(f.all))
			numbers[*one], f.all = number, append(f.all, *one)
		}
		if f.pages[r/page] == 0 {
			f.pages[r/page], f.places = uint16(len(f.places)), append(f.places, [page]uint16{})
		}
		f.places[f.pages[r/page]][r%page] = number
	}
	return f
}

// codePoint reads a number of the table, which is part of this package.
func codePoint(text string) rune {
	number, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		panic(err)
	}
	return rune(number)
}

// smallLetters has the small letters of all capital ones. That of İ is two.
func smallLetters() map[rune]rune {
	found := map[rune]rune{'İ': dottedI}
	add := func(r rune) {
		if small := lower14(r); small != r && r != 'İ' {
			found[r] = small
		}
	}
	for _, cases := range unicode.CaseRanges {
		for r := rune(cases.Lo); r <= rune(cases.Hi); r++ {
			add(r)
		}
	}
	each(unicode14, add)
	return found
}

// each calls a function for every character of a table.
func each(table *unicode.RangeTable, call func(r rune)) {
	for _, some := range table.R16 {
		for r := rune(some.Lo); r <= rune(some.Hi); r += rune(some.Stride) {
			call(r)
		}
	}
	for _, some := range table.R32 {
		for r := rune(some.Lo); r <= rune(some.Hi); r += rune(some.Stride) {
			call(r)
		}
	}
}
