package testload

// Series is a workload of points in time that is right, with models that keep them as records and as series; tests change
// one thing in it.
const Series = `workload: series
seed: 3
rate: 300
rounds: 1
round: 200ms
collections:
  - collection: readings
    partition: [site, device]
    sort: [at]
    fields: {site: string, device: int, at: time, value: float, count: int, tags: list, more: map, note: string}
    data:
      count: 80
      fields:
        site: {choice: ["north/1", "süd %"]}
        device: {int: {min: -1, max: 0}}
        at: {time: {from: 2026-01-01, to: 2026-01-03, ascending: true}}
        value: {float: {min: -1, max: 1}}
        count: {int: {max: 1000}}
        tags: {list: {min: 0, max: 2, of: {choice: [wet, cold]}}}
        more: {map: {by: {choice: [anna, ben]}, since: {time: {from: 2020-01-01, to: 2021-01-01}}}}
        note: {words: {min: 1, max: 3}, missing: 0.5}
queries:
  - {name: one, weight: 5, kind: get, draw: latest}
  - {name: is there, weight: 5, kind: exists}
  - {name: newest, weight: 10, kind: find, where: {site: $, device: $}, order: [-at], limit: 5}
  - {name: oldest, weight: 5, kind: find, where: {site: $, device: $}, order: [at], limit: {min: 1, max: 9}}
  - {name: all, weight: 5, kind: find, where: {site: $, device: $}}
  - {name: half a day, weight: 10, kind: find, where: {site: $, device: $}, range: {field: at, from: $, span: 12h}, order: [at]}
  - {name: up to one, weight: 5, kind: find, where: {site: $, device: $}, range: {field: at, at_most: $}, order: [-at], limit: 7}
  - {name: a day backward, weight: 5, kind: find, where: {site: $, device: $}, range: {field: at, above: 2026-01-02, to: 2026-01-03}, order: [-at]}
  - {name: behind one, weight: 5, kind: count, where: {site: $, device: $}, range: {field: at, above: $}, order: [at]}
  - {name: how many, weight: 5, kind: count, where: {device: 0, site: $}}
  - {name: a few, weight: 5, kind: count, where: {site: $, device: $}, limit: 3}
  - {name: pages back, weight: 5, kind: page, where: {site: $, device: $}, order: [-at], limit: 4, pages: 3}
  - {name: pages on, weight: 5, kind: page, where: {site: $, device: $}, range: {field: at, above: $}, order: [at], limit: 4}
  - {name: look closer, weight: 5, kind: journey, steps: [{query: newest}, {query: one, take: found}]}
  - {name: new, weight: 10, kind: insert}
  - {name: late, weight: 5, kind: insert, set: {at: {time: {from: 2025-12-31, to: 2026-01-03}}}}
  - {name: taken, weight: 5, kind: insert, set: {at: {time: {from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:00:00.003Z"}}}}
models:
  - name: records
  - {name: records backward, sort: [-at]}
  - {name: hours, collections: {readings: {series: {span: 1h, most: 4}}}}
  - {name: days, collections: {readings: {series: {span: 24h}}}}
`
