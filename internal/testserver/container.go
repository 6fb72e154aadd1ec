package testserver

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// A container is a server that runs in a Docker container, called like the guard's folder.
type container struct {
	pool  *dockertest.Pool
	kind  kind
	addr  string
	args  []string
	guard *guard
}

// engine returns the Docker engine of this machine if one answers, else nil. An engine that is
// reached over the network publishes loopback ports elsewhere, so it is none.
func engine(ctx context.Context) *dockertest.Pool {
	pool, err := dockertest.NewPool("")
	if err != nil || !strings.HasPrefix(pool.Client.Endpoint(), "unix://") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	if pool.Client.PingWithContext(ctx) != nil {
		return nil
	}
	return pool
}

func (c *container) name() string { return filepath.Base(c.guard.dir) }

func (c *container) start() (<-chan struct{}, error) {
	if err := c.run(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		// Errors too mean that there is nothing to wait for.
		_, _ = c.pool.Client.WaitContainer(c.name())
		close(ended)
	}()
	return ended, nil
}

// run creates and starts the container, or starts again the one that there is.
func (c *container) run() error {
	_, err := c.pool.Client.InspectContainer(c.name())
	if err == nil {
		return c.pool.Client.StartContainer(c.name(), nil)
	}
	if missing := new(docker.NoSuchContainer); !errors.As(err, &missing) {
		return err
	}
	// From here on the guard removes the container too, should this process be killed.
	note := filepath.Join(c.guard.dir, "docker")
	if err := os.WriteFile(note, []byte(c.pool.Client.Endpoint()), 0o600); err != nil {
		return err
	}
	return c.create()
}

func (c *container) create() error {
	_, port, err := net.SplitHostPort(c.addr)
	if err != nil {
		return err
	}
	image, tag, _ := strings.Cut(c.kind.image, ":")
	cmd, env := c.kind.container(port, c.args)
	// The same port on both sides, so that the address by which MongoDB and Cassandra know
	// themselves is the one by which a client finds them.
	inner := docker.Port(port + "/tcp")
	_, err = c.pool.RunWithOptions(&dockertest.RunOptions{
		Name:         c.name(),
		Repository:   image,
		Tag:          tag,
		Cmd:          cmd,
		Env:          env,
		ExposedPorts: []string{string(inner)},
		PortBindings: map[docker.Port][]docker.PortBinding{inner: {{HostIP: "127.0.0.1", HostPort: port}}},
	}, func(h *docker.HostConfig) {
		h.PublishAllPorts = false // else the image's other ports are open to the network
	})
	return err
}

func (c *container) signal(sig syscall.Signal) error {
	return c.pool.Client.KillContainer(docker.KillContainerOptions{ID: c.name(), Signal: docker.Signal(sig)})
}

func (c *container) remove() error {
	err := c.pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: c.name(), Force: true, RemoveVolumes: true})
	if missing := new(docker.NoSuchContainer); errors.As(err, &missing) {
		return nil
	}
	return err
}

func (c *container) tail() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var log bytes.Buffer
	err := c.pool.Client.Logs(docker.LogsOptions{
		Context: ctx, Container: c.name(), OutputStream: &log, ErrorStream: &log, Stdout: true, Stderr: true, Tail: "20",
	})
	if err != nil {
		return err.Error()
	}
	return lastLines(log.Bytes())
}
