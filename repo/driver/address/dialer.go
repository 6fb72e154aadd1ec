package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// ErrElsewhere is what a connection to another machine ends with that a URL with
// local=true does not allow. It is ErrInvalid.
var ErrElsewhere = fmt.Errorf("it is not on this machine, and local=true allows no other: %w", driver.ErrInvalid)

// A Dialer makes all connections of a client that a store makes for itself: to the
// servers of the URL and to those that a server tells about. The zero Dialer is good.
type Dialer struct {
	Local bool // connect to this machine only

	last atomic.Pointer[error] // why the last connection could not be made
}

// DialContext makes a connection.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	nd := net.Dialer{KeepAlive: 30 * time.Second}
	if d.Local {
		nd.ControlContext = onlyHere
	}
	c, err := nd.DialContext(ctx, network, addr)
	d.Note(err)
	return c, err
}

// onlyHere refuses an address, which is that of a connection about to be made and no
// name any more, unless it is one of this machine.
func onlyHere(_ context.Context, network, addr string, _ syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return ErrElsewhere
	}
	if ip := net.ParseIP(trimZone(host)); ip == nil || !isOwn(ip) {
		return ErrElsewhere
	}
	return nil
}

func trimZone(host string) string {
	for i := range len(host) {
		if host[i] == '%' {
			return host[:i]
		}
	}
	return host
}

// isOwn reports whether an address is one of this machine: a loopback address, that of
// one of its interfaces, or the one that stands for all of them.
func isOwn(ip net.IP) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// lookupTime is how long Allows waits for the addresses of a name.
const lookupTime = 3 * time.Second

// Allows says whether connections to a host, a name or an address without its port, are
// allowed. With Local a host is refused of which any address is that of another machine,
// or whose addresses nobody knows.
func (d *Dialer) Allows(ctx context.Context, host string) error {
	if !d.Local || host == "" {
		return nil
	}
	ips := []net.IPAddr{{IP: net.ParseIP(trimZone(host))}}
	if ips[0].IP == nil {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		var err error
		if ips, err = net.DefaultResolver.LookupIPAddr(ctx, host); err != nil {
			return fmt.Errorf("%s: %w", host, ErrElsewhere)
		}
	}
	for _, ip := range ips {
		if !isOwn(ip.IP) {
			return fmt.Errorf("%s: %w", host, ErrElsewhere)
		}
	}
	return nil
}

// AllowAll is Allows for hosts of a URL, as Open says it, if there is time left.
func (d *Dialer) AllowAll(ctx context.Context, who frame.Name, hosts []string) error {
	if err := who.Over(ctx); err != nil {
		return err
	}
	for _, host := range hosts {
		if err := d.Allows(ctx, host); err != nil {
			return who.Wrap(fmt.Errorf("open: %w", err))
		}
	}
	return nil
}

// Hosts reads a list of hosts, each with its port or one for which port stands, and returns their
// names and their addresses. What is no host may be a part of a password, and is not to be printed.
func Hosts(list, port string) (names, addrs []string, ok bool) {
	for host := range strings.SplitSeq(list, ",") {
		name, at, err := net.SplitHostPort(host)
		if err != nil {
			name, at = strings.Trim(host, "[]"), port
		}
		if n, err := strconv.ParseUint(at, 10, 16); err != nil || n == 0 || !IsHost(name) {
			return nil, nil, false
		}
		names, addrs = append(names, name), append(addrs, net.JoinHostPort(name, at))
	}
	return names, addrs, true
}

// Note keeps why a connection could not be made; nil says that one was made. That the
// time of the caller was over is no reason.
func (d *Dialer) Note(err error) {
	switch {
	case err == nil:
		d.last.Store(nil)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
	default:
		d.last.Store(&err)
	}
}

// Why returns why the last connection could not be made, nil if it was made or d is nil.
func (d *Dialer) Why() error {
	if d == nil {
		return nil
	}
	if err := d.last.Load(); err != nil {
		return *err
	}
	return nil
}
