// Package testload has the workloads that tests of several packages change. A text comes in, one of these
// or a changed one; a workload that was read goes out.
package testload

// Small is a workload that is right; tests change one thing in it.
const Small = `workload: small
seed: 3
rate: 200
rounds: 1
round: 200ms
collections:
  - collection: posts
    partition: [author]
    sort: [id]
    fields: {author: string, id: string, category: string, views: int, tags: list, created: time}
    indexes:
      - {partition: [category], sort: [-created], covers: ["*"]}
      - {partition: ["tags[]"], sort: [-created]}
    data:
      count: 200
      fields:
        author: {int: {min: 1, max: 9, zipf: 1}, pattern: "user:%d"}
        id: {sequence: 1, pattern: "P%04d"}
        category: {choice: {IT: 60, Daily: 40}}
        views: {int: {max: 50}}
        tags: {list: {min: 0, max: 3, of: {choice: [go, redis, sql]}}}
        created: {time: {from: 2024-01-01, to: 2025-01-01}}
queries:
  - {name: one post, weight: 40, kind: get, draw: zipf, objectives: {p99: 500ms}}
  - {name: of a category, weight: 20, kind: find, where: {category: $}, order: [-created], limit: 10}
  - {name: with a tag, weight: 10, kind: count, where: {"tags[]": $}, order: [created]}
  - {name: ids, weight: 10, kind: find, where: {author: $}, prefix: {field: id, chars: 3}}
  - {name: new post, weight: 10, kind: insert}
  - {name: read, weight: 5, kind: update, add: {views: 1}}
  - {name: other category, weight: 5, kind: move, set: {category: $}}
models:
  - name: covering
  - {name: keys only, covers: []}
  - {name: scan, indexes: [], scan: true}
`
