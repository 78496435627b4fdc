import type { Database } from '../database.ts'

/** The same database, whose writes may use the whole reserve: for routes and jobs that revoke, or publish revocations. */
export function forRevocations<Parts extends { readonly database: Database }>(parts: Parts): Parts {
  const { database } = parts
  const room = 'revocation'
  return {
    ...parts,
    database: {
      ...database,
      write: (work, options) => database.write(work, { ...options, room }),
      run: (statement, input) => database.run(statement, input, { room }),
    },
  }
}
