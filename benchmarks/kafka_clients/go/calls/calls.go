// Package calls makes the calls of a client one after the other and prints what came of each: a
// line of JSON with the call's name and, where it failed, the error.
package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Longest is how long one call may take, and grace what a client gets to notice that it is over.
const (
	Longest = 20 * time.Second
	grace   = time.Second
)

// Call is something that a client is asked to do. Do returns nil if it did that.
type Call struct {
	Name string
	Do   func(context.Context) error
}

type outcome struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Brokers are the addresses that a client begins with.
func Brokers() []string { return strings.Split(os.Getenv("BOOTSTRAP_SERVERS"), ",") }

// Run makes all calls, in order. One that fails, panics or does not end leaves the next ones be.
func Run(all []Call) {
	lines := json.NewEncoder(os.Stdout)
	for _, call := range all {
		said := outcome{Name: call.Name, OK: true}
		if err := bounded(call.Do); err != nil {
			said.OK, said.Error = false, err.Error()
		}
		if err := lines.Encode(said); err != nil {
			panic(err)
		}
	}
}

func bounded(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Longest)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if what := recover(); what != nil {
				ended <- fmt.Errorf("panic: %v", what)
			}
		}()
		ended <- do(ctx)
	}()
	select {
	case err := <-ended:
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("no end within %v: %w", Longest, err)
		}
		return err
	case <-time.After(Longest + grace): // not every client knows of contexts
		return fmt.Errorf("no end within %v", Longest)
	}
}

// That a condition holds; else an error says what was found instead.
func That(holds bool, found string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(found, values...)
}

// Refused wants this error: a call that is to fail, and how.
func Refused(err, want error) error {
	return That(errors.Is(err, want), "answered %v instead of %v", err, want)
}

// Await asks again, every tenth of a second, until a condition holds or the call's time is over.
func Await(ctx context.Context, holds func() (bool, error)) error {
	for {
		if done, err := holds(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
