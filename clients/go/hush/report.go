package hush

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
)

// A Report is all that leaves a device. It is private by its noise: anybody may see it.
type Report struct {
	plan    *Plan
	id      [16]byte
	answers []answer
}

type answer struct {
	question int
	output   output
}

// Randomise draws a report with the operating system's randomness. A bad record is refused before anything is drawn; the
// error names the attribute and the rule, and no value.
//
// Every report costs the plan's epsilon: keep the first one, and send that again.
func Randomise(plan *Plan, record Record) (*Report, error) {
	return randomise(plan, record, systemCoins())
}

func randomise(plan *Plan, record Record, c *coins) (report *Report, err error) {
	inputs, err := plan.encode(record)
	if err != nil {
		return nil, err
	}
	defer func() {
		if problem := recover(); problem != nil {
			report, err = nil, noWords(problem)
		}
	}()
	report = &Report{plan: plan}
	for i, drawn := range plan.drawQuestions(c) {
		if drawn == 1 {
			q := plan.questions[i]
			report.answers = append(report.answers, answer{i, q.channel.draw(c, q.see(inputs))})
		}
	}
	binary.BigEndian.PutUint64(report.id[:], c.word())
	binary.BigEndian.PutUint64(report.id[8:], c.word())
	return report, nil
}

// ID is the report's random id, in hexadecimal. A collector counts each id once.
func (r *Report) ID() string { return hex.EncodeToString(r.id[:]) }

// Binary is the binary form.
func (r *Report) Binary() []byte {
	out := append([]byte{version}, r.plan.hash[:8]...)
	out = append(out, r.id[:]...)
	for _, a := range r.answers {
		letters := r.plan.questions[a.question].channel.alphabet()
		out = appendNumber(out, a.question, r.plan.indexBytes())
		if !letters.set {
			out = appendNumber(out, a.output.symbol, letters.bytes())
			continue
		}
		packed := make([]byte, letters.bytes())
		for i, in := range a.output.set {
			packed[i/8] |= in << (i % 8)
		}
		out = append(out, packed...)
	}
	return out
}

// JSON is the text of the JSON form, canonical.
func (r *Report) JSON() []byte {
	answers := []any{}
	for _, a := range r.answers {
		var output any = number(a.output.symbol)
		if r.plan.questions[a.question].channel.alphabet().set {
			members := []any{}
			for i, in := range a.output.set {
				if in == 1 {
					members = append(members, number(i))
				}
			}
			output = members
		}
		answers = append(answers, []any{number(a.question), output})
	}
	return canonical(object{"hush": number(version), "plan": r.plan.ID(), "id": r.ID(), "answers": answers})
}

// DecodeReport reads the binary form of a report of this plan.
func (p *Plan) DecodeReport(data []byte) (*Report, error) {
	r := &Report{plan: p}
	if len(data) > 0 && data[0] == oldVersion {
		return nil, fmt.Errorf("report: %w", errOld)
	}
	if len(data) < 25 || data[0] != version {
		return nil, errors.New("report: it must begin with the version 2, the plan and an id")
	}
	if string(data[1:9]) != string(p.hash[:8]) {
		return nil, errors.New("report: it is of another plan")
	}
	copy(r.id[:], data[9:])
	data = data[25:]
	for i := 0; i < p.k; i++ {
		question := i
		if n := p.indexBytes(); n > 0 {
			if len(data) < n {
				return nil, errTooShort
			}
			question, data = readNumber(data[:n]), data[n:]
		}
		if err := r.next(question); err != nil {
			return nil, err
		}
		letters := p.questions[question].channel.alphabet()
		n := letters.bytes()
		if len(data) < n {
			return nil, errTooShort
		}
		out, err := letters.unpack(data[:n])
		if err != nil {
			return nil, fmt.Errorf("report: question %d: %w", question, err)
		}
		r.answers, data = append(r.answers, answer{question, out}), data[n:]
	}
	if len(data) > 0 {
		return nil, errors.New("report: there is something behind it")
	}
	return r, nil
}

var errTooShort = errors.New("report: bytes are missing")

// DecodeReportJSON reads the JSON form of a report of this plan.
func (p *Plan) DecodeReportJSON(text []byte) (*Report, error) {
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	f := open(value, "hush", "plan", "id", "answers")
	f.version()
	f.rule(f.text("plan") == p.ID(), "plan must be the id of this plan")
	r := &Report{plan: p}
	id, err := hex.DecodeString(f.text("id"))
	f.rule(err == nil && len(id) == 16 && hex.EncodeToString(id) == f.text("id"), "id must be 32 lower-case hexadecimal digits")
	copy(r.id[:], id)
	answers := f.array("answers")
	f.rule(len(answers) == p.k, "answers must be %d", p.k)
	for _, value := range answers {
		if f.err == nil {
			f.err = r.readAnswer(value)
		}
	}
	if f.err != nil {
		return nil, fmt.Errorf("report: %w", f.err)
	}
	return r, nil
}

func (r *Report) readAnswer(value any) error {
	pair, _ := value.([]any)
	if len(pair) != 2 {
		return errors.New("an answer must be a pair of question and output")
	}
	question, ok := asInteger(pair[0])
	if !ok || question < 0 || question >= int64(len(r.plan.questions)) {
		return errors.New("an answer must begin with the index of a question")
	}
	if err := r.next(int(question)); err != nil {
		return err
	}
	out, err := r.plan.questions[question].channel.alphabet().read(pair[1])
	if err != nil {
		return fmt.Errorf("question %d: %w", question, err)
	}
	r.answers = append(r.answers, answer{int(question), out})
	return nil
}

// next refuses a question that does not exist, or is not behind those before.
func (r *Report) next(question int) error {
	if question >= len(r.plan.questions) {
		return errors.New("there is no such question")
	}
	if n := len(r.answers); n > 0 && r.answers[n-1].question >= question {
		return errors.New("questions must increase")
	}
	return nil
}

// indexBytes is how many bytes the index of a question takes.
func (p *Plan) indexBytes() int {
	switch {
	case p.k == len(p.questions):
		return 0
	case len(p.questions) <= 256:
		return 1
	default:
		return 2
	}
}

// bytes is how many bytes an output takes.
func (a alphabet) bytes() int {
	if a.set {
		return (a.size + 7) / 8
	}
	return (bits.Len(uint(a.size-1)) + 7) / 8
}

func appendNumber(out []byte, number, length int) []byte {
	for i := length - 1; i >= 0; i-- {
		out = append(out, byte(number>>(8*i)))
	}
	return out
}

func readNumber(data []byte) int {
	number := 0
	for _, b := range data {
		number = number<<8 | int(b)
	}
	return number
}
