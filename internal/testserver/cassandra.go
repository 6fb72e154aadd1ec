package testserver

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

func cassandraKind() kind {
	return kind{
		store:    Cassandra,
		variable: "POLYSTORE_TEST_CASSANDRA",
		scheme:   "cassandra",
		path:     "/",
		image:    "cassandra:5.0.9",
		args: settings(
			"commitlog_sync=batch", // periodic loses acknowledged writes on a mere kill -9
			"commitlog_sync_period=0ms",
			"paxos_variant=v2",
			"auto_snapshot=false", // TRUNCATE and DROP keep no copy of what goes
			// A busy machine should make tests slow, not red.
			"read_request_timeout=30s",
			"range_request_timeout=30s",
			"write_request_timeout=30s",
			"cas_contention_timeout=30s",
			"truncate_request_timeout=60s",
			"request_timeout=50s",
		),
		// A change of the schema is in the commit log; a server that starts again wants it as files,
		// too, which takes most of the time of a change.
		shared:    []string{"-Dcassandra.test.flush_local_schema_changes=false"},
		container: cassandraContainer,
		prepare:   func(context.Context, string) error { return nil },
		check:     checkCassandra,
	}
}

func settings(keys ...string) []string {
	for i, key := range keys {
		keys[i] = "-Dcassandra.settings." + key
	}
	return keys
}

func cassandraContainer(port string, args []string) (cmd, env []string) {
	java := append([]string{
		"-Dcassandra.config.allow_system_properties=true",
		"-Dcassandra.native_transport_port=" + port,
		"-Dcassandra.skip_wait_for_gossip_to_settle=0",
		"-Dcassandra.ring_delay_ms=2000",
	}, args...)
	return nil, []string{
		"JVM_EXTRA_OPTS=" + strings.Join(java, " "),
		"MAX_HEAP_SIZE=512M", "HEAP_NEWSIZE=128M",
		"CASSANDRA_BROADCAST_RPC_ADDRESS=127.0.0.1", // where drivers are told to find the node
	}
}

func checkCassandra(ctx context.Context, rawURL string) error {
	cluster, err := cassandraCluster(rawURL)
	if err != nil {
		return err
	}
	session, err := cluster.CreateSession()
	if err != nil && strings.Contains(err.Error(), "authentication required") {
		return nil // it answers, and its test knows its users
	}
	if err != nil {
		return err
	}
	defer func() { go session.Close() }() // where a server was restarted it can wait for ever
	var version string
	return session.Query("SELECT release_version FROM system.local").ScanContext(ctx, &version)
}

func cassandraCluster(rawURL string) (*gocql.ClusterConfig, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "cassandra" || u.Hostname() == "" {
		return nil, errURL
	}
	cluster := gocql.NewCluster(u.Hostname())
	if port, err := strconv.Atoi(u.Port()); err == nil {
		cluster.Port = port
	}
	if password, ok := u.User.Password(); ok {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: password}
	}
	cluster.ProtoVersion = 5
	cluster.ConnectTimeout, cluster.Timeout = 5*time.Second, 5*time.Second
	return cluster, nil
}
