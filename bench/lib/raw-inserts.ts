import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'

/** One batch of that many rows. */
export type BatchStatement = (rows: number) => {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** P of the limit formula: the bare database runs the same SQL, in batches, one statement in flight. */
export class BareRows {
  readonly #client: pg.Client
  readonly #statement: BatchStatement
  readonly #batch: number

  private constructor(client: pg.Client, batch: number, statement: BatchStatement) {
    this.#client = client
    this.#batch = batch
    this.#statement = statement
  }

  static async open(url: string, batch: number, statement: BatchStatement): Promise<BareRows> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return new BareRows(client, batch, statement)
  }

  async rate(milliseconds: number): Promise<number> {
    const start = performance.now()
    let rows = 0
    while (performance.now() - start < milliseconds) {
      await this.#client.query(this.#statement(this.#batch))
      rows += this.#batch
    }
    return (rows * 1000) / (performance.now() - start)
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}

const EXPIRES_AT = '2099-01-01T00:00:00.000000Z'

/** Nonce claim and liveness of a heartbeat. */
export function heartbeatRows(certIds: readonly string[]): BatchStatement {
  let at = 0
  return (rows) => {
    const ids = Array.from({ length: rows }, () => certIds[(at += 1) % certIds.length])
    return {
      name: 'bare-heartbeat',
      text:
        'with n as (insert into nonces (claim, expires_at) select c, $3 from unnest($1::bytea[]) c on conflict do nothing) ' +
        "update node_liveness set last_heartbeat = $4, heartbeat_status = 'ok', remote_addr = '127.0.0.1' where cert_id = any($2::text[])",
      values: [Array.from({ length: rows }, () => randomBytes(16)), ids, EXPIRES_AT, new Date().toISOString()],
    }
  }
}

/** Nonce, invite, certificate with liveness and audit event of a join: the same rows, without reads and checks. */
export function joinRows(): BatchStatement {
  return (rows) => {
    const ids = Array.from({ length: rows }, () => randomUUID())
    return {
      name: 'bare-join',
      text:
        'with i as (select * from unnest($1::text[], $2::bytea[]) as t(id, claim)), ' +
        'n as (insert into nonces (claim, expires_at) select claim, $3 from i), ' +
        'c as (insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status) ' +
        "select id, id, repeat('x', 480), '[]', $3, $3, 1, 'issued' from i), " +
        "l as (insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) select id, id, $3, 'joined', '127.0.0.1' from i) " +
        "insert into audit_events (event_id, event_type, event_json, created_at) select id, 'certificate_issued', repeat('x', 400), $3 from i",
      values: [ids, ids.map(() => randomBytes(16)), EXPIRES_AT],
    }
  }
}

/** Nonce claim and audit event of an evaluation. */
export function evaluateRows(): BatchStatement {
  return (rows) => {
    const ids = Array.from({ length: rows }, () => randomUUID())
    return {
      name: 'bare-evaluate',
      text:
        'with i as (select * from unnest($1::text[], $2::bytea[]) as t(id, claim)), ' +
        'n as (insert into nonces (claim, expires_at) select claim, $3 from i) ' +
        "insert into audit_events (event_id, event_type, event_json, created_at) select id, 'boundary_attestation_decision_made', repeat('x', 900), $3 from i",
      values: [ids, ids.map(() => randomBytes(16)), EXPIRES_AT],
    }
  }
}
