package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A process is a candidate at work, seen from outside.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	enc  *json.Encoder
	dec  *json.Decoder
}

// spawn starts this program once more as the process of a candidate. When ctx
// ends so does the process.
func spawn(ctx context.Context, cfg config) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: cfg.Candidate, cmd: exec.CommandContext(ctx, self)}
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
	p.cmd.Stderr = os.Stderr
	p.cmd.WaitDelay = 5 * time.Second
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	p.cmd.Cancel = p.in.Close
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.enc, p.dec = json.NewEncoder(p.in), json.NewDecoder(out)
	if _, err := p.ask(request{Config: &cfg}); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// ask sends a request and waits for the reply.
func (p *process) ask(r request) (reply, error) {
	var answer reply
	if err := p.enc.Encode(r); err != nil {
		return answer, fmt.Errorf("%s: ask: %w", p.name, err)
	}
	if err := p.dec.Decode(&answer); err != nil {
		return answer, fmt.Errorf("%s: its process gave no answer: %w", p.name, err)
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("%s: %s", p.name, answer.Error)
	}
	return answer, nil
}

// stop ends the process and waits until it is gone.
func (p *process) stop() error {
	p.in.Close() // fails only if it was closed before
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}
