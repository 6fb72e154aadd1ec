package testload

// Threads is a workload of posts with comments that is right, whose models have the comments elsewhere; tests change one
// thing in it.
const Threads = `workload: threads
seed: 3
rate: 400
rounds: 1
round: 200ms
collections:
  - collection: posts
    partition: [author]
    sort: [post]
    fields: {author: string, post: int, title: string, views: int, created: time}
    indexes: [{partition: [title], sort: [-created], covers: ["*"]}]
    data:
      count: 8
      fields:
        author: {int: {min: 1, max: 9}, pattern: "user:%d"}
        post: {sequence: 1}
        title: {choice: [news, help]}
        views: {missing: 0.3, int: {max: 50}}
        created: {time: {from: 2024-01-01, to: 2025-01-01}}
  - collection: comments
    partition: [whose, on]
    sort: [id]
    fields: {whose: string, on: int, id: string, by: string, stars: int, tags: list, text: string, score: float, mark: bytes, facts: map, sure: bool, created: time}
    indexes: [{partition: [whose, on], sort: [-created]}]
    data:
      count: 40
      fields:
        whose: {ref: {collection: posts, field: author, zipf: 0.9}}
        on: {ref: {collection: posts, field: post, zipf: 0.9}}
        id: {sequence: 1, pattern: "C%04d"}
        by: {int: {min: 1, max: 20}, pattern: "user:%d"}
        stars: {missing: 0.3, int: {max: 5}}
        tags: {list: {min: 0, max: 3, of: {choice: [go, redis, sql]}}}
        text: {words: {min: 1, max: 5}}
        score: {float: {min: -1, max: 1}}
        mark: {missing: 0.5, bytes: {size: {min: 0, max: 3}}}
        facts: {map: {a: {int: {max: 3}}, b: {list: {min: 1, max: 2, of: {words: {}}}}}}
        sure: {bool: 0.5}
        created: {missing: 0.1, time: {from: 2024-01-01, to: 2025-01-01}}
queries:
  - {name: post, weight: 20, kind: get, collection: posts, children: {comments: {order: [-created], limit: 3}}}
  - {name: posts, weight: 5, kind: find, collection: posts, where: {title: $}, order: [-created], limit: 5, children: {comments: {where: {whose: $author, on: $post, sure: true}, order: [created]}}}
  - {name: post alone, weight: 5, kind: get, collection: posts}
  - {name: pages of posts, weight: 5, kind: page, collection: posts, where: {title: $}, order: [-created], limit: 3}
  - {name: new post, weight: 5, kind: insert, collection: posts}
  - {name: same post, weight: 2, kind: put, collection: posts, set: {title: {choice: [news, help]}}}
  - {name: post read, weight: 3, kind: modify, collection: posts, add: {views: 1}}
  - {name: several posts, weight: 5, kind: group, collection: posts, writes: [update, put], set: {title: {choice: [news, help]}}}
  - {name: comment, weight: 5, kind: get, collection: comments}
  - {name: is there, weight: 3, kind: exists, collection: comments}
  - {name: newest, weight: 5, kind: page, collection: comments, where: {whose: $, on: $}, order: [-created], limit: 4, pages: 3}
  - {name: tagged, weight: 2, kind: find, collection: comments, where: {whose: $, on: $}, any_of: {"tags[]": 2}, none_of: {stars: [3]}, order: [created]}
  - {name: since, weight: 2, kind: count, collection: comments, where: {whose: $, on: $}, range: {field: created, from: $}, order: [created]}
  - {name: by readers, weight: 2, kind: groups, collection: comments, where: {whose: $, on: $}, by: [by], sum: [stars], order: [by, -created]}
  - {name: readers, weight: 1, kind: distinct, collection: comments, where: {whose: $, on: $}, by: [by], order: [by, -created]}
  - {name: last of each, weight: 1, kind: firsts, collection: comments, where: {whose: $, on: $}, by: [by], order: [by, -created]}
  - {name: of a reader, weight: 1, kind: find, collection: comments, where: {by: $}, order: [-created, id], limit: 7}
  - {name: new comment, weight: 8, kind: insert, collection: comments}
  - {name: edited, weight: 4, kind: update, collection: comments, set: {text: {words: {}}, tags: $}, add: {stars: 1}}
  - {name: liked, weight: 4, kind: modify, collection: comments, set: {score: {float: {}}}, push: {tags: {of: $by, cap: 4}}}
  - {name: later, weight: 3, kind: move, collection: comments, set: {created: {time: {from: 2025-01-01, to: 2026-01-01}}}}
  - {name: again, weight: 4, kind: put, collection: comments, set: {text: {words: {}}}}
  - {name: several, weight: 3, kind: group, collection: comments, writes: [update, put, delete], set: {text: {words: {}}}, misses: true}
  - {name: gone, weight: 2, kind: delete, collection: comments, misses: true}
models:
  - {name: elsewhere, scan: true, indexes: [], collections: {posts: {indexes: [{partition: [title], sort: [-created]}]}, comments: {indexes: [{partition: [whose, on], sort: [-created]}, {partition: [whose, on], sort: [by, -created]}]}}}
  - {name: scan, indexes: [], scan: true}
  - {name: embedded, scan: true, collections: {comments: {embed: posts}}}
  - {name: embedded newest first, scan: true, collections: {comments: {sort: [-id], embed: posts}, posts: {covers: []}}}
`
