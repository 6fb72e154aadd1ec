package cassandra

import (
	"strconv"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// Options are the choices of New.
type Options struct {
	// Keyspace is the name of the keyspace. It must be given.
	Keyspace string

	// Datacenter makes reads and commits wait for servers of one datacenter only
	// (LOCAL_QUORUM, LOCAL_SERIAL). A commit in another datacenter does not see their
	// conditions, so all programs must write to the same one: the first to define a
	// table decides, and programs with another choice are refused. "" is QUORUM and
	// SERIAL, over all datacenters.
	Datacenter string

	// Replication makes the keyspace if it is not there: the number of copies in every
	// datacenter, "3", or in those that are named, "dc1:3,dc2:3". With "" it must be
	// there. Of a keyspace that is there nothing is changed.
	Replication string
}

// use makes the connection one of the keyspace and consistency of o.
func (c *conn) use(o *Options) error {
	if !isName(o.Keyspace) || len(o.Keyspace) > 48 {
		return who.Invalid("open: the keyspace %.100q: want a name of at most 48 letters, digits and '_'", o.Keyspace)
	}
	if strings.HasPrefix(o.Keyspace, "system") {
		return who.Invalid("open: the keyspace %s is the server's own: name another", o.Keyspace)
	}
	if strings.ContainsAny(o.Datacenter, "'\\ ") || len(o.Datacenter) > 100 {
		return who.Invalid("open: the datacenter %.100q: want the name that the server tells in system.local", o.Datacenter)
	}
	c.keyspace, c.dc = o.Keyspace, o.Datacenter
	c.level, c.serial = gocql.Quorum, gocql.Serial
	if c.dc != "" {
		c.level, c.serial = gocql.LocalQuorum, gocql.LocalSerial
	}
	var err error
	c.replication, err = replication(o.Replication)
	return err
}

// consistency returns the words for the levels of the connection.
func (c *conn) consistency() string {
	if c.dc == "" {
		return "QUORUM, SERIAL"
	}
	return "LOCAL_QUORUM, LOCAL_SERIAL in " + c.dc
}

func isName(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// replication returns the CQL of Options.Replication.
func replication(text string) (string, error) {
	cql := "{'class': 'NetworkTopologyStrategy'"
	if text == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(text, ",") {
		dc, count, named := strings.Cut(part, ":")
		if !named {
			dc, count = "replication_factor", part
		}
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > 1000 || dc == "" || strings.ContainsAny(dc, "'\\ ") || !named && text != part {
			return "", who.Invalid("open: the replication %.100q: want a number of copies, as in 3, or datacenters with theirs, as in dc1:3,dc2:3", text)
		}
		cql += ", '" + dc + "': " + strconv.Itoa(n)
	}
	return cql + "}", nil
}
