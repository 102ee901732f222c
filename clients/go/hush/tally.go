package hush

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// Numbers of people are plain integers in JSON, so they stay below this.
const mostPeople = 1 << 53

// Names of stores have this many bytes, and a tally has this many of them at most.
const (
	nameSize  = 16
	mostNames = 4096
)

// A Tally counts reports of a plan. Own says how many of them a relay has added, and stores has the names of each
// store that has counted them, the newest first.
type Tally struct {
	plan     *Plan
	n        uint64
	answered []uint64
	counts   [][]uint64
	own      uint64
	stores   [][][nameSize]byte
}

// NewTally is a tally of no reports.
func NewTally(plan *Plan) *Tally {
	t := &Tally{plan: plan, answered: make([]uint64, len(plan.questions))}
	for _, q := range plan.questions {
		t.counts = append(t.counts, make([]uint64, q.channel.alphabet().size))
	}
	return t
}

// Add counts a report. Whoever receives reports looks at their ids first: a tally keeps none.
func (t *Tally) Add(report *Report) error {
	if report.plan.hash != t.plan.hash {
		return errors.New("tally: the report is of another plan")
	}
	t.n++
	for _, a := range report.answers {
		t.answered[a.question]++
		if a.output.set == nil {
			t.counts[a.question][a.output.symbol]++
		}
		for i, in := range a.output.set {
			t.counts[a.question][i] += uint64(in)
		}
	}
	return nil
}

// Binary is the binary form.
func (t *Tally) Binary() []byte {
	out := append([]byte{version}, t.plan.hash[:]...)
	out = binary.AppendUvarint(out, t.n)
	for i, answered := range t.answered {
		out = binary.AppendUvarint(out, answered)
		if t.sparse(i) {
			for _, run := range runs(t.counts[i]) {
				if run < 0 {
					out = binary.AppendUvarint(out, 0)
					run = -run
				}
				out = binary.AppendUvarint(out, uint64(run))
			}
			continue
		}
		for _, count := range t.counts[i] {
			out = binary.AppendUvarint(out, count)
		}
	}
	if t.own > 0 || len(t.stores) > 0 {
		out = binary.AppendUvarint(out, t.own)
	}
	if len(t.stores) > 0 {
		out = binary.AppendUvarint(out, uint64(len(t.stores)))
	}
	for _, names := range t.stores {
		out = binary.AppendUvarint(out, uint64(len(names)))
		for _, name := range names {
			out = append(out, name[:]...)
		}
	}
	return out
}

// JSON is the text of the JSON form, canonical.
func (t *Tally) JSON() []byte {
	counts := []any{}
	for i, row := range t.counts {
		if t.sparse(i) {
			written := []any{}
			for _, run := range runs(row) {
				written = append(written, json.Number(strconv.FormatInt(run, 10)))
			}
			counts = append(counts, written)
			continue
		}
		counts = append(counts, integers(row))
	}
	return canonical(object{
		"hush": number(version), "plan": t.plan.ID(), "reports": json.Number(strconv.FormatUint(t.n, 10)),
		"answered": integers(t.answered), "counts": counts,
	})
}

// sparse says whether runs of zeros are written for a question.
func (t *Tally) sparse(question int) bool {
	return t.plan.questions[question].channel.alphabet().sparse
}

// runs are counts, with -m for each run of m zeros.
func runs(counts []uint64) []int64 {
	var found []int64
	for _, count := range counts {
		last := len(found) - 1
		switch {
		case count > 0:
			found = append(found, int64(count))
		case last >= 0 && found[last] < 0:
			found[last]--
		default:
			found = append(found, -1)
		}
	}
	return found
}

// fill reads counts from runs, which next returns one by one. It says whether they are as long as they can be, and fit.
func fill(room []uint64, next func() (int64, bool)) bool {
	zeros := false
	for at := 0; at < len(room); {
		run, ok := next()
		if !ok || run == 0 || run > mostPeople || zeros && run < 0 || run < -int64(len(room)-at) {
			return false
		}
		zeros = run < 0
		if zeros {
			at += int(-run)
		} else {
			room[at] = uint64(run)
			at++
		}
	}
	return true
}

func integers(values []uint64) []any {
	result := []any{}
	for _, value := range values {
		result = append(result, json.Number(strconv.FormatUint(value, 10)))
	}
	return result
}

// DecodeTally reads the binary form of a tally of this plan.
func (p *Plan) DecodeTally(data []byte) (*Tally, error) {
	if len(data) > 0 && data[0] == oldVersion {
		return nil, fmt.Errorf("tally: %w", errOld)
	}
	if len(data) < 33 || data[0] != version || string(data[1:33]) != string(p.hash[:]) {
		return nil, errors.New("tally: it must begin with the version 2 and the id of this plan")
	}
	data = data[33:]
	var err error
	next := func() uint64 {
		value, n := binary.Uvarint(data)
		if n <= 0 || value > mostPeople || n > 1 && data[n-1] == 0 {
			err = errors.New("tally: counts must be LEB128 integers of at most 2^53 in their shortest form")
			data = nil
			return 0
		}
		data = data[n:]
		return value
	}
	t := NewTally(p)
	t.n = next()
	for i := range t.answered {
		t.answered[i] = next()
		if t.sparse(i) {
			good := fill(t.counts[i], func() (int64, bool) {
				if count := next(); count > 0 || err != nil {
					return int64(count), err == nil
				}
				return -int64(next()), err == nil
			})
			if !good && err == nil {
				err = errors.New("tally: counts of points must be positive, with 0 and m for each run of m zeros")
			}
			continue
		}
		for j := range t.counts[i] {
			t.counts[i][j] = next()
		}
	}
	own := err == nil && len(data) > 0
	if own {
		t.own = next()
	}
	if err == nil && own && t.own == 0 && len(data) == 0 {
		err = errors.New("tally: own reports are written if there are any, or a store behind them")
	}
	if err == nil && len(data) > 0 {
		if t.stores = readStores(&data, next); t.stores == nil && err == nil {
			err = errors.New("tally: stores must be one or more with names of 16 bytes, in order, and no name twice")
		}
	}
	if err == nil && len(data) > 0 {
		err = errors.New("tally: there is something behind it")
	}
	if err == nil && t.own > t.n {
		err = errors.New("tally: there are more own reports than reports")
	}
	if err == nil {
		err = t.check()
	}
	return t, err
}

// readStores reads the names of stores, which stand behind what next has read of rest. It returns none if they break a rule.
func readStores(rest *[]byte, next func() uint64) [][][nameSize]byte {
	stores, seen := [][][nameSize]byte{}, map[[nameSize]byte]bool{}
	for left := next(); left > 0; left-- {
		names := [][nameSize]byte{}
		for more := next(); more > 0; more-- {
			if len(*rest) < nameSize {
				return nil
			}
			var name [nameSize]byte
			copy(name[:], *rest)
			*rest = (*rest)[nameSize:]
			if seen[name] || len(seen) == mostNames {
				return nil
			}
			seen[name] = true
			names = append(names, name)
		}
		last := len(stores) - 1
		if len(names) == 0 || last >= 0 && bytes.Compare(stores[last][0][:], names[0][:]) > 0 {
			return nil
		}
		stores = append(stores, names)
	}
	if len(stores) == 0 {
		return nil
	}
	return stores
}

// DecodeTallyJSON reads the JSON form of a tally of this plan.
func (p *Plan) DecodeTallyJSON(text []byte) (*Tally, error) {
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("tally: %w", err)
	}
	f := open(value, "hush", "plan", "reports", "answered", "counts")
	f.version()
	f.rule(f.text("plan") == p.ID(), "plan must be the id of this plan")
	t := NewTally(p)
	t.n = uint64(f.integer("reports", 0, mostPeople))
	f.counts("answered", f.values["answered"], t.answered)
	counts := f.array("counts")
	f.rule(len(counts) == len(t.counts), "counts must be an array for each question")
	for i := range t.counts {
		if f.err == nil && t.sparse(i) {
			f.runs(counts[i], t.counts[i])
		} else if f.err == nil {
			f.counts("counts", counts[i], t.counts[i])
		}
	}
	if f.err != nil {
		return nil, fmt.Errorf("tally: %w", f.err)
	}
	return t, t.check()
}

// runs reads counts with -m for each run of m zeros.
func (f *fields) runs(value any, room []uint64) {
	values, _ := value.([]any)
	at := 0
	good := fill(room, func() (int64, bool) {
		if at == len(values) {
			return 0, false
		}
		at++
		return asInteger(values[at-1])
	})
	f.rule(good && at == len(values), "counts of points must be positive, with -m for each run of m zeros")
}

// counts reads as many integers as there is room for.
func (f *fields) counts(name string, value any, room []uint64) {
	values, _ := value.([]any)
	f.rule(len(values) == len(room), "%s must have an integer for each place", name)
	for i := 0; i < len(room) && f.err == nil; i++ {
		count, ok := asInteger(values[i])
		f.rule(ok && 0 <= count && count <= mostPeople, "%s must be integers from 0 to 2^53", name)
		room[i] = uint64(count)
	}
}

// check refuses counts that no reports can give.
func (t *Tally) check() error {
	answers := new(big.Int) // 4096 questions times 2^53 people need more than 64 bits
	for i, answered := range t.answered {
		if answered > t.n {
			return errors.New("tally: no question is answered more often than there are reports")
		}
		answers.Add(answers, whole(answered))
		if err := t.plan.questions[i].channel.alphabet().checkCounts(answered, t.counts[i]); err != nil {
			return fmt.Errorf("tally: question %d: %w", i, err)
		}
	}
	if answers.Cmp(new(big.Int).Mul(whole(t.n), whole(uint64(t.plan.k)))) != 0 {
		return fmt.Errorf("tally: every report has %d answers", t.plan.k)
	}
	return nil
}

func (a alphabet) checkCounts(answered uint64, counts []uint64) error {
	sum, together := new(big.Int), uint64(0)
	for i, count := range counts {
		if a.group == 0 || i%a.group == 0 {
			together = 0
		}
		if together += count; together > answered { // both are at most 2^53
			return errors.New("nothing is counted more often than there were answers, and no group")
		}
		sum.Add(sum, whole(count))
	}
	each := int64(1)
	if a.set {
		each = int64(a.members)
	}
	if each >= 0 && sum.Cmp(new(big.Int).Mul(whole(answered), big.NewInt(each))) != 0 {
		return fmt.Errorf("counts must add up to %d for each answer", each)
	}
	return nil
}
