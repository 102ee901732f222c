package collector

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"

	"hush.example/client/hush"
)

// A Ledger is a file that keeps one report for each plan, so that a device that is asked again sends the same report: a
// new one would cost epsilon again. It has reports and never a record.
type Ledger struct {
	path string
	cap  *big.Rat
}

// kept is the content of the file.
type kept struct {
	Version int              `json:"hush"`
	Answers map[string]entry `json:"answers"` // by the plan's id
	// The hash of what decides whether a record fits, by the subject of a training.
	Trainings map[string]string `json:"trainings,omitempty"`
}

type entry struct {
	Epsilon string `json:"epsilon"`
	Report  string `json:"report"`          // binary, in hexadecimal
	After   string `json:"after,omitempty"` // the id of the plan that this one follows
	Title   string `json:"title,omitempty"` // of the plan; early ledgers have it for trainings only
	Place   string `json:"place,omitempty"` // where the answer goes, if Train drew it
	// The report as it goes to a relay, in hexadecimal, the key for which it is sealed, and whether a relay holds it.
	Sealed string `json:"sealed,omitempty"`
	Key    string `json:"key,omitempty"`
	Held   bool   `json:"held,omitempty"`
}

// OpenLedger is the ledger in a file, which need not be there yet. The cap is a decimal number: what all plans of this ledger
// may cost together.
func OpenLedger(path, cap string) (*Ledger, error) {
	most, ok := new(big.Rat).SetString(cap)
	if !ok || most.Sign() <= 0 {
		return nil, errors.New("the cap must be a decimal number above 0")
	}
	return &Ledger{path, most}, nil
}

// Report is the report that the ledger has for this plan. If it has none, one is drawn, and is on disk when this returns.
func (l *Ledger) Report(plan *hush.Plan, draw func() (*hush.Report, error)) (*hush.Report, error) {
	unlock, err := lock(l.path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer unlock()
	content, err := l.read()
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if known, ok := content.Answers[plan.ID()]; ok {
		report, err := decode(plan, known)
		if err != nil {
			return nil, fmt.Errorf("ledger: its report for this plan cannot be read, and is left as it is: %w", err)
		}
		return report, nil
	}
	if err := exclude(content, plan); err != nil {
		return nil, err
	}
	if err := l.afford(content, plan); err != nil {
		return nil, err
	}
	report, err := draw()
	if err != nil {
		return nil, err
	}
	// The title too: Train must see that a plan of its training was answered.
	content.Answers[plan.ID()] = entry{Epsilon: plan.Epsilon(), Report: hex.EncodeToString(report.Binary()), After: plan.After(), Title: plan.Title()}
	if err := l.write(content); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return report, nil
}

func decode(plan *hush.Plan, known entry) (*hush.Report, error) {
	data, err := hex.DecodeString(known.Report)
	if err != nil {
		return nil, err
	}
	return plan.DecodeReport(data)
}

// exclude refuses a plan that follows one that was answered, or that such a one follows: nobody answers both.
func exclude(content *kept, plan *hush.Plan) error {
	_, both := content.Answers[plan.After()]
	for _, known := range content.Answers {
		both = both || known.After == plan.ID()
	}
	if both {
		return errors.New("ledger: it has a report for a plan that belongs to this one, and keeps one of both only")
	}
	return nil
}

// afford refuses a plan that would cost more than is left.
func (l *Ledger) afford(content *kept, plan *hush.Plan) error {
	sum, err := hush.ParseEpsilon(plan.Epsilon())
	if err != nil {
		return err
	}
	for _, known := range content.Answers {
		epsilon, err := hush.ParseEpsilon(known.Epsilon)
		if err != nil {
			return fmt.Errorf("ledger: an epsilon in it cannot be read")
		}
		sum.Add(sum, epsilon)
	}
	if sum.Cmp(l.cap) > 0 {
		return fmt.Errorf("ledger: the plan costs %s, and all plans together may cost %s", plan.Epsilon(), l.cap.FloatString(3))
	}
	return nil
}

// read is what the file has. A file that cannot be read is an error: starting anew would forget what was spent.
func (l *Ledger) read() (*kept, error) {
	content := &kept{Version: 1, Answers: map[string]entry{}}
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return content, nil
	}
	if err != nil {
		return nil, err
	}
	content.Version = 0
	if err := json.Unmarshal(text, content); err != nil || content.Version != 1 || content.Answers == nil {
		if err == nil && content.Version > 1 {
			return nil, fmt.Errorf("%s is a ledger of version %d, and this client reads version 1: it is left as it is, "+
				"for the client that wrote it", l.path, content.Version)
		}
		return nil, fmt.Errorf("%s is not a ledger of version 1, and is left as it is", l.path)
	}
	return content, nil
}

// write replaces the file by one that is complete and on disk: after a crash there is the old one or the new one.
func (l *Ledger) write(content *kept) (err error) {
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	folder := filepath.Dir(l.path)
	file, err := os.CreateTemp(folder, filepath.Base(l.path)+".*.new") // only its owner may read it
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = file.Write(append(text, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), l.path)
	}
	if err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the new name durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
