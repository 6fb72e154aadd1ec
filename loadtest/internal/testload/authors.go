package testload

// Authors is a workload with joins, and with models that keep copies in two ways; tests change one thing in it.
const Authors = `workload: authors
seed: 3
rate: 300
rounds: 1
round: 200ms
collections:
  - collection: towns
    partition: [id]
    fields: {id: string, title: string}
    data: {count: 5, fields: {id: {sequence: 1, pattern: "t%d"}, title: {words: {}}}}
  - collection: users
    partition: [id]
    fields: {id: string, name: string, town: string, likes: int}
    data:
      count: 200
      fields:
        id: {sequence: 1, pattern: "u%02d"}
        name: {words: {min: 2, max: 2}, missing: 0.1}
        town: {ref: {collection: towns, field: id}}
        likes: {int: {max: 9}}
  - collection: posts
    partition: [category]
    sort: [id]
    fields: {category: string, id: string, author: string, title: string, created: time}
    indexes:
      - {partition: [category], sort: [-created], covers: ["*"]}
      - {partition: [author], sort: [category, id]}
    data:
      count: 300
      fields:
        category: {choice: [IT, Daily, Books]}
        id: {sequence: 1, pattern: "P%04d"}
        author: {ref: {collection: users, field: id, zipf: 1.2}, missing: 0.1}
        title: {words: {}}
        created: {time: {from: 2024-01-01, to: 2025-01-01, ascending: true}}
queries:
  - {name: newest, weight: 10, kind: find, collection: posts, where: {category: $}, order: [-created], limit: 10, join: {author: {from: users, take: [name]}}}
  - {name: page, weight: 10, kind: page, collection: posts, where: {category: $}, order: [-created], limit: 5, join: {author: {from: users, take: [name]}}}
  - {name: post, weight: 10, kind: get, collection: posts, draw: zipf, join: {author: {from: users, take: [name]}}}
  - {name: post and town, weight: 5, kind: get, collection: posts, join: {author: {from: users, take: [name, town]}}}
  - {name: plain, weight: 5, kind: get, collection: posts}
  - {name: user, weight: 5, kind: get, collection: users, join: {town: {from: towns, take: [title]}}}
  - {name: rename, weight: 10, kind: update, collection: users, draw: zipf, set: {name: $}}
  - {name: user anew, weight: 5, kind: put, collection: users, set: {name: {words: {}}}}
  - {name: user gone, weight: 2, kind: delete, collection: users, misses: true}
  - {name: new user, weight: 3, kind: insert, collection: users}
  - {name: liked, weight: 5, kind: update, collection: users, add: {likes: 1}}
  - {name: new post, weight: 5, kind: insert, collection: posts}
  - {name: post anew, weight: 5, kind: put, collection: posts, set: {title: {words: {}}}}
  - {name: other author, weight: 5, kind: modify, collection: posts, set: {author: $}}
  - {name: other title, weight: 5, kind: update, collection: posts, set: {title: $}}
  - {name: group, weight: 5, kind: group, collection: posts, writes: [update, delete], set: {title: {words: {}}}}
  - {name: post gone, weight: 5, kind: delete, collection: posts, misses: true}
models:
  - name: join
  - name: copies
    collections: {posts: {copies: {author: [name]}}}
  - name: two copies
    collections: {posts: {covers: [], copies: {author: [name, town]}}}
`
