package hush

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
)

const (
	version       = 2
	oldVersion    = 1
	mostOutputs   = 4194304
	mostQuestions = 4096
)

// A Plan is everything public about a collection. ParsePlan makes one; it does not change afterwards, and several
// goroutines may use it.
type Plan struct {
	hash      [32]byte
	title     string
	after     string // the id of the plan that it follows, or empty
	epsilon   string
	k         int
	ends      []uint64 // cumulated weights of the questions; nil if there are none
	schema    []*attribute
	questions []question
}

type question struct {
	views   []*view
	channel channel
}

// see is what the question sees of a record: the inputs of its channel.
func (q *question) see(inputs []input) []input {
	var seen []input
	for _, v := range q.views {
		seen = append(seen, v.look(inputs))
	}
	return seen
}

// ID is the plan's id: the SHA-256 of its canonical text, in hexadecimal.
func (p *Plan) ID() string { return hex.EncodeToString(p.hash[:]) }

// Title is what the plan says it is for.
func (p *Plan) Title() string { return p.title }

// Epsilon is what answering costs a person, as a decimal number.
func (p *Plan) Epsilon() string { return p.epsilon }

// After is the id of another plan that this one follows, such as a pilot, or empty: nobody answers both.
func (p *Plan) After() string { return p.after }

// Names are the names of the attributes.
func (p *Plan) Names() []string {
	var names []string
	for _, a := range p.schema {
		names = append(names, a.name)
	}
	return names
}

var errOld = errors.New("it is of version 1, and this client reads version 2: the plan must be made anew, and its reports")

// version refuses documents of another version.
func (f *fields) version() {
	found, ok := asInteger(f.values["hush"])
	f.rule(!ok || found != oldVersion, "%w", errOld)
	f.rule(ok && found == version, "hush must be the version, %d", version)
}

var errCanonical = errors.New("it must be in canonical form: keys sorted, no white space, shortest numbers")

// ParsePlan reads the canonical text of a plan and checks all of it: every rule of the specification, and in exact
// arithmetic that no report gives away more than epsilon. The text of a plan in another form is refused.
func ParsePlan(text []byte) (*Plan, error) {
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p, err := readPlan(value)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	// Last, so that a plan that breaks a rule hears of the rule.
	if !bytes.Equal(canonical(value), text) {
		return nil, fmt.Errorf("plan: %w", errCanonical)
	}
	p.hash = sha256.Sum256(text)
	return p, nil
}

var planID = regexp.MustCompile("^[0-9a-f]{64}$")

func readPlan(value any) (*Plan, error) {
	f := open(value, "hush", "title", "after", "epsilon", "k", "weights", "schema", "questions")
	f.version()
	p := &Plan{title: f.text("title"), epsilon: f.text("epsilon")}
	f.rule(printable(p.title, 0, longestText), "title must have at most %d printable characters", longestText)
	if f.values["after"] != nil {
		p.after = f.text("after")
		f.rule(planID.MatchString(p.after), "after must be null or the id of a plan, 64 lower-case hexadecimal digits")
	}
	epsilon, err := ParseEpsilon(p.epsilon)
	f.rule(err == nil, "epsilon %w", err)
	questions := f.array("questions")
	p.k = f.size("k", 1, most(len(questions), 1))
	if f.err != nil {
		return nil, f.err
	}
	if p.schema, err = readSchema(f.values["schema"]); err != nil {
		return nil, err
	}
	if p.questions, err = readQuestions(questions, p.schema); err != nil {
		return nil, err
	}
	if f.values["weights"] != nil {
		p.readWeights(f)
	}
	p.checkPrivacy(f, epsilon)
	return p, f.err
}

// ParseEpsilon reads a decimal number from 0.001 to 16 that is written as plans write it: the shortest that gives the same
// float64, with a decimal point.
func ParseEpsilon(text string) (*big.Rat, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(0.001 <= value && value <= 16) || formatFloat(value) != text {
		return nil, errors.New("must be the shortest decimal number for a value from 0.001 to 16, as text with a point")
	}
	exact, _ := new(big.Rat).SetString(text)
	return exact, nil
}

func readQuestions(values []any, schema []*attribute) ([]question, error) {
	var questions []question
	if len(values) > mostQuestions {
		return nil, fmt.Errorf("there must be at most %d questions", mostQuestions)
	}
	known, asked := map[string]bool{}, map[string]bool{}
	for i, value := range values {
		q, err := readQuestion(value, schema)
		if err != nil {
			return nil, fmt.Errorf("question %d: %w", i, err)
		}
		key := string(canonical(value.(object)["views"]))
		if known[key] {
			return nil, fmt.Errorf("question %d: no other question may have the same views", i)
		}
		known[key] = true
		for _, v := range q.views {
			for _, name := range v.of {
				asked[name] = true
			}
		}
		questions = append(questions, q)
	}
	for _, a := range schema {
		if !asked[a.name] {
			return nil, fmt.Errorf("attribute %q: a question must ask about it", a.name)
		}
	}
	return questions, nil
}

func readQuestion(value any, schema []*attribute) (question, error) {
	f, q := open(value, "views", "channel"), question{}
	views := f.array("views")
	f.rule(len(views) > 0, "there must be a view")
	var seen []*attribute
	known := map[string]bool{}
	for i := 0; i < len(views) && f.err == nil; i++ {
		var v *view
		if v, f.err = readView(views[i], schema); f.err == nil {
			key := string(canonical(views[i]))
			f.rule(!known[key], "its views must all differ")
			known[key] = true
			q.views, seen = append(q.views, v), append(seen, v.seen)
		}
	}
	if f.err == nil {
		q.channel, f.err = readChannel(f.values["channel"])
	}
	if f.err == nil {
		f.err = q.channel.fit(seen)
	}
	return q, f.err
}

func (p *Plan) readWeights(f *fields) {
	weights := f.array("weights")
	f.rule(p.k == 1, "weights must be null unless k is 1")
	f.rule(len(weights) == len(p.questions), "weights must be as many as the questions")
	sum := uint64(0)
	for _, value := range weights {
		weight, ok := asInteger(value)
		f.rule(ok && 1 <= weight && weight <= 1<<32, "weights must be integers from 1 to 2^32")
		sum += uint64(weight)
		p.ends = append(p.ends, sum)
	}
}

func (p *Plan) checkPrivacy(f *fields, epsilon *big.Rat) {
	var ratios []fraction
	outputs := 0
	for _, q := range p.questions {
		outputs += q.channel.alphabet().size
		ratios = append(ratios, q.channel.ratio())
	}
	f.rule(outputs <= mostOutputs, "its channels must have at most %d outputs together", mostOutputs)
	f.rule(!productOfLargest(ratios, p.k).exceeds(lower(epsilon)), "a report would give away more than epsilon")
}

// drawQuestions is step 2: a byte for each question, 1 if it is to be answered.
func (p *Plan) drawQuestions(c *coins) []byte {
	if p.ends == nil {
		return c.subset(len(p.questions), p.k)
	}
	drawn := make([]byte, len(p.questions))
	x, index := c.below(p.ends[len(p.ends)-1]), 0
	for _, end := range p.ends {
		index += int(1 - less(x, end))
	}
	drawn[index] = 1
	return drawn
}
