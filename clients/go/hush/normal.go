package hush

// Hangul syllables are a first consonant, a vowel, and maybe a last consonant, all of them numbered in order.
const (
	syllable, lead, vowel, tail = 0xac00, 0x1100, 0x1161, 0x11a7
	leads, vowels, tails        = 19, 21, 28
	syllables                   = leads * vowels * tails
)

// normaliser takes normal forms. It takes the same steps for all texts that have room for as many characters, whatever
// they hold, and however many of their characters count. Behind these come zeros, which nothing joins.
type normaliser struct {
	forms *forms
	of    func(r rune) *form // a field, so that a test can count how often it is called
}

func newNormaliser() *normaliser {
	f := formsOf()
	return &normaliser{f, f.of}
}

// formC is Unicode's normal form C of the first characters of a text, and how many they are: small letters are taken if
// they are asked for, characters are taken apart, marks are put in their order, and what can be joined is.
func (n *normaliser) formC(text []rune, count int, lower bool) ([]rune, int) {
	if lower {
		text = n.lowered(text)
	}
	apart, count := n.apart(text, count)
	ordered, about := n.ordered(apart)
	joined, all := n.joined(ordered, about)
	return joined, all - (len(apart) - count)
}

// lowered maps to small letters by Unicode's full mapping, without a language. Two small letters are one dottedI, and a
// sigma at the end of a word is another letter: after a cased letter and not before one, apart from characters that case
// ignores.
func (n *normaliser) lowered(text []rune) []rune {
	found, about, before := make([]rune, len(text)), make([]*form, len(text)), make([]uint64, len(text))
	cased := uint64(0)
	for i, r := range text {
		about[i], before[i] = n.of(r), cased
		cased = choose(uint64(about[i].ignored), cased, uint64(about[i].cased))
	}
	cased = 0
	for i := len(text) - 1; i >= 0; i-- {
		last := same(uint64(text[i]), sigma) & before[i] & (1 - cased)
		found[i] = rune(choose(last, lastSigma, int(text[i]+about[i].small)))
		cased = choose(uint64(about[i].ignored), cased, uint64(about[i].cased))
	}
	return found
}

// apart takes characters apart. The result has room for as many parts as there can be.
func (n *normaliser) apart(text []rune, count int) ([]rune, int) {
	found, at, counted := make([]rune, mostParts*(len(text)+1)), 0, 0
	for i, r := range text {
		about := n.of(r)
		s := int(r) - syllable
		hangul := less(uint64(s), syllables)
		inside := choose(hangul, s, 0)
		third := 1 - same(uint64(inside%tails), 0)
		put := found[at : at+mostParts]
		put[0] = rune(choose(hangul, lead+inside/(vowels*tails), int(r+about.parts[0])))
		put[1] = rune(choose(hangul, vowel+inside%(vowels*tails)/tails, int(r+about.parts[1])))
		put[2] = rune(choose(hangul, tail+inside%tails, int(r+about.parts[2])))
		put[3] = r + about.parts[3]
		parts := choose(hangul, 2+int(third), int(about.count))
		at += parts
		counted += parts & -int(less(uint64(i), uint64(count)))
	}
	for i := range found {
		found[i] &= -rune(less(uint64(i), uint64(at))) // what was put behind the last part
	}
	return found[:mostParts*len(text)], counted
}

// ordered puts marks in the order of their classes, between the characters that are none. It sorts everything by the class
// first, and then by the number of characters before that are no marks. Both times equal ones stay in their order.
func (n *normaliser) ordered(text []rune) ([]rune, []*form) {
	about, places := make([]*form, len(text)), make([]int, len(text)+1)
	starters := 0
	for i, r := range text {
		about[i] = n.of(r)
		starters += int(same(uint64(about[i].class), 0))
		places[i] = starters
	}
	byClass := sorted(len(text), page, func(i int) int { return int(about[i].class) })
	bySegment := sorted(len(text), len(text)+1, func(i int) int { return places[byClass[i]] })
	found, theirs := make([]rune, len(text)), make([]*form, len(text))
	for i, place := range bySegment {
		found[i], theirs[i] = text[byClass[place]], about[byClass[place]]
	}
	return found, theirs
}

// sorted has the numbers below n by their keys, which are below a bound. It takes as many steps for all of them.
func sorted(n, bound int, key func(i int) int) []int {
	starts := make([]int, bound+1)
	for i := 0; i < n; i++ {
		starts[key(i)+1]++
	}
	for i := 0; i < bound; i++ {
		starts[i+1] += starts[i]
	}
	found := make([]int, n)
	for i := 0; i < n; i++ {
		at := &starts[key(i)]
		found[*at] = i
		*at++
	}
	return found
}

// joined joins each character with the last one before it that is no mark, unless a mark of the same or a higher class is
// between them.
func (n *normaliser) joined(text []rune, about []*form) ([]rune, int) {
	found := make([]rune, len(text)+1)
	count, starter, begun, before := 0, 0, uint64(0), uint64(0)
	row := 0 // of the starter
	for i, r := range text {
		class := uint64(about[i].class)
		near := same(uint64(count), uint64(starter+1)) | less(before, class)
		whole := n.pair(found[starter], r, row, int(about[i].column))
		joins := begun & near & (1 - same(uint64(whole), 0))
		found[starter] = rune(choose(joins, int(whole), int(found[starter])))
		found[count] = rune(choose(joins, 0, int(r))) // behind the last one if it joins
		starts := same(class, 0) & (1 - joins)
		starter = choose(starts, count, starter)
		begun |= starts
		before = choose(joins, before, class)
		count += 1 - int(joins)
		row = int(n.of(found[starter]).row)
	}
	return found[:len(text)], count
}

// pair is what two characters become, or 0 if they are not joined.
func (n *normaliser) pair(one, other rune, row, column int) rune {
	found := int(n.forms.joined[row*n.forms.columns+column])
	l, v := int(one)-lead, int(other)-vowel
	found = choose(less(uint64(l), leads)&less(uint64(v), vowels), syllable+(l*vowels+v)*tails, found)
	s, t := int(one)-syllable, int(other)-tail
	open := less(uint64(s), syllables) & same(uint64(s%tails), 0)
	return rune(choose(open&less(uint64(t-1), tails-1), int(one)+t, found))
}
