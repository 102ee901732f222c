package collector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"hush.example/client/hush"
)

const receiptID = 9 // where the id of a binary report begins; it has 16 bytes

// Train takes part in a training, once: in a stage of its pilot, or in a round. Later calls send the same report again, whatever
// the round or the seed that the collector sends. The
// record and the label are checked before anything is drawn. The ledger keeps the description of the training: the device
// refuses another one under the same title. Of several classes one is drawn, without a look at the record.
func (c *Client) Train(ctx context.Context, expected *hush.Expected, record hush.Record, label any, ledger *Ledger) (Receipt, error) {
	return c.takePart(ctx, expected, false, record, label, ledger)
}

// HeldOut reports the loss of the model so far, once: a held-out person shows how good the model is, and takes part in nothing
// else. Everything else is as in Train: later calls of either send the same report again.
func (c *Client) HeldOut(ctx context.Context, expected *hush.Expected, record hush.Record, label any, ledger *Ledger) (Receipt, error) {
	return c.takePart(ctx, expected, true, record, label, ledger)
}

func (c *Client) takePart(ctx context.Context, expected *hush.Expected, heldOut bool, record hush.Record, label any, ledger *Ledger) (Receipt, error) {
	var receipt Receipt
	what := map[bool]string{false: "/round", true: "/check"}[heldOut]
	var sent []*hush.Phase
	for _, name := range expected.Names() {
		text, err := c.ask(ctx, http.MethodGet, "/trainings/"+url.PathEscape(name)+what, "", nil, http.StatusOK, largestPlan)
		if err != nil {
			return receipt, fmt.Errorf("fetching the round: %w", err)
		}
		phase, err := hush.ParsePhase(text)
		if err != nil {
			return receipt, err
		}
		sent = append(sent, phase)
	}
	phase, err := expected.Choose(sent, heldOut)
	if err != nil {
		return receipt, err
	}
	if err := ledger.describe(phase.Training()); err != nil {
		return receipt, err
	}
	place, report, err := ledger.gradient(phase, func() (*hush.Report, error) { return phase.Randomise(record, label) })
	if err != nil {
		return receipt, err
	}
	answer, err := c.ask(ctx, http.MethodPost, place, "application/vnd.hush.report", report, http.StatusAccepted, largestAnswer)
	if err != nil {
		return receipt, fmt.Errorf("sending the report: %w", err)
	}
	own := hex.EncodeToString(report[receiptID : receiptID+16])
	if err := json.Unmarshal(answer, &receipt); err != nil || receipt.ID != own {
		return receipt, errors.New("sending the report: the collector's answer is about something else")
	}
	return receipt, nil
}

// describe keeps the schema and the label of a training under its subject, or refuses others: before the record is read.
func (l *Ledger) describe(training *hush.Training) error {
	return l.change(func(content *kept) error {
		hash, subject := sha256.Sum256(training.Description()), hush.Subject(training.Name())
		found := hex.EncodeToString(hash[:])
		if known, ok := content.Trainings[subject]; ok && known != found {
			return errors.New("ledger: this training had other features or another label when this device first saw it")
		}
		if content.Trainings == nil {
			content.Trainings = map[string]string{}
		}
		content.Trainings[subject] = found
		return nil
	})
}

// gradient is the one report of this device to a training, and where it goes: the one that is kept, whatever its round and its
// seed, or one that is drawn now and is on disk when this returns.
func (l *Ledger) gradient(phase *hush.Phase, draw func() (*hush.Report, error)) (place string, body []byte, err error) {
	err = l.change(func(content *kept) error {
		plan, subject, other := phase.Plan(), hush.Subject(phase.Training().Name()), false
		for id, known := range content.Answers {
			if id != plan.ID() && !hush.Under(subject, known.Title) {
				continue
			}
			if known.Place == "" || named(known.Place) != subject { // a survey, or a training whose name looks like a seed of this one
				other = true
				continue
			}
			place = known.Place
			body, err = hex.DecodeString(known.Report)
			if err != nil || len(body) < receiptID+16 {
				return errors.New("ledger: its report for this training cannot be read, and is left as it is")
			}
			return nil
		}
		if other {
			return errors.New("ledger: a plan of this training was answered by other means than Train, and is answered once")
		}
		if err := exclude(content, plan); err != nil {
			return err
		}
		if err := l.afford(content, plan); err != nil {
			return err
		}
		report, err := draw()
		if err != nil {
			return err
		}
		place = "/trainings/" + url.PathEscape(phase.Training().Name()) + "/" + phase.Place()
		body = report.Binary()
		content.Answers[plan.ID()] = entry{Epsilon: plan.Epsilon(), Report: hex.EncodeToString(body), After: plan.After(), Title: plan.Title(), Place: place}
		return nil
	})
	return place, body, err
}

// named is the subject of the training to which a place belongs; empty if the place is none of a training.
func named(place string) string {
	parts := strings.Split(place, "/")
	if len(parts) != 4 {
		return ""
	}
	name, err := url.PathUnescape(parts[2])
	if err != nil {
		return ""
	}
	return hush.Subject(name)
}

// change reads the ledger, changes it and writes it, while nobody else can. It is on disk when this returns.
func (l *Ledger) change(act func(content *kept) error) error {
	return l.look(func(content *kept) error {
		if err := act(content); err != nil {
			return err
		}
		if err := l.write(content); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		return nil
	})
}

// look reads the ledger while nobody changes it.
func (l *Ledger) look(act func(content *kept) error) error {
	unlock, err := lock(l.path + ".lock")
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer unlock()
	content, err := l.read()
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return act(content)
}
