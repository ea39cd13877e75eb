// Package nomad is the seam to HashiCorp Nomad: it places, stops, watches and
// lists attempts, reads nodes and logs. It implements domain.Cluster and is
// the only home of Nomad's client library.
//
// What is ours on the cluster is told by job meta (keys gpupool.*) that is
// written once at registration: the pool (Config.Prefix), organisation,
// project, user, job and attempt. Everything else is foreign and only counted.
//
// The list of allocations is the truth; the event stream is a hint. Calls that
// Nomad would send to a node's self-declared address with our token (exec,
// file system, the stock client's logs) are not used: members run nodes.
package nomad
