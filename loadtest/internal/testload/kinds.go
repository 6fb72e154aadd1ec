package testload

import "strings"

// Kinds is the small workload with models that differ in the kind of their indexes.
var Kinds = Small[:strings.Index(Small, "models:")] + `models:
  - {name: tables, kind: table}
  - {name: native, kind: native}
  - {name: one native, kind: table, collections: {posts: {indexes: [{partition: [category], sort: [-created]}, {partition: ["tags[]"], sort: [-created], kind: native}]}}}
  - {name: left open}
`
