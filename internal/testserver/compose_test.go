package testserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/polystore/polystore/internal/testserver"
)

type compose struct {
	Services map[testserver.Store]struct {
		Image       string
		Ports       []string
		Healthcheck struct{ Test []string }
	}
}

var pinned = regexp.MustCompile(`^[a-z]+:\d+\.\d+\.\d+$`)

// composeFaults lists what is wrong with a docker-compose.yml.
func composeFaults(text string) []string {
	var c compose
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		return []string{err.Error()}
	}
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, store := range stores {
		service, ok := c.Services[store]
		if !ok {
			fault("%s: no service", store)
			continue
		}
		if service.Image != store.Image() || !pinned.MatchString(service.Image) {
			fault("%s: image %s", store, service.Image)
		}
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				fault("%s: port %s", store, port)
			}
		}
		if len(service.Healthcheck.Test) < 2 {
			fault("%s: no health check", store)
		}
	}
	if len(c.Services) != len(stores) {
		fault("%d services", len(c.Services))
	}
	return faults
}

func TestCompose(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		old, new string
		want     []string
	}{
		{"as it is", "", "", nil},
		{"image not pinned", "mongo:8.0.20", "mongo:8", []string{"mongo: image mongo:8"}},
		{"another image", "redis:7.4.9", "redis:7.4.8", []string{"redis: image redis:7.4.8"}},
		{"port open to the network", "127.0.0.1:9042:9042", "9042:9042", []string{"cassandra: port 9042:9042"}},
		{"no health check", "healthcheck:", "labels:", []string{"redis: no health check"}},
		{"another service", "\n  redis:", "\n  valkey:", []string{"redis: no service"}},
		{"one service more", "services:", "services:\n  more: {image: more}", []string{"4 services"}},
	} {
		broken := strings.Replace(string(text), tt.old, tt.new, 1)
		if diff := cmp.Diff(tt.want, composeFaults(broken)); diff != "" {
			t.Errorf("%s: faults (-want +got)\n%s", tt.name, diff)
		}
	}
}
