import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { canonicalBytes, type JsonObject, sha256Hex, writeInstant } from '@chancery/protocol'
import { withClient } from './databases.ts'

/** Nodes of a benchmark: real keys, rows inserted directly into the database. */
export interface BenchNode {
  readonly publicKey: string
  readonly key: KeyObject
  readonly certId: string
}

export function makeNodes(count: number): BenchNode[] {
  return Array.from({ length: count }, () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const raw = publicKey.export({ format: 'jwk' }).x ?? ''
    return { publicKey: Buffer.from(raw, 'base64url').toString('base64'), key: privateKey, certId: randomUUID() }
  })
}

export function proof(body: JsonObject, node: BenchNode): string {
  const full = {
    ...body,
    node_public_key: node.publicKey,
    nonce: randomUUID(),
    timestamp: writeInstant(BigInt(Date.now()) * 1000n),
  }
  const signature = sign(null, canonicalBytes(full), node.key).toString('base64')
  return JSON.stringify({ ...full, signature })
}

/** Inserts certificates of these nodes, and others until the tables have the given size. */
export async function seedCertificates(url: string, nodes: readonly BenchNode[], total: number): Promise<void> {
  await withClient(url, async (client) => {
    const columns =
      '(cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status)'
    const tail = `'["role:client"]', '2020-01-01T00:00:00.000000Z', '2099-01-01T00:00:00.000000Z', 168, 'issued'`
    await client.query(
      `insert into issued_certs ${columns} select id, key, repeat('x', 480), ${tail} from unnest($1::text[], $2::text[]) as t(id, key)`,
      [nodes.map((n) => n.certId), nodes.map((n) => n.publicKey)],
    )
    await client.query(
      `insert into issued_certs ${columns} select 'seed-' || n, 'key-' || md5(n::text), repeat('x', 480), ${tail} from generate_series(1, $1::int) n`,
      [total - nodes.length],
    )
    await client.query(
      "insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) select cert_id, node_public_key, '2020-01-01T00:00:00.000000Z', 'joined', '127.0.0.1' from issued_certs on conflict do nothing",
    )
    await client.query('analyze')
  })
}

/** Unused invites whose tokens are their own names. */
export async function seedInvites(url: string, tokens: readonly string[]): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      "insert into invite_tokens (token_digest, assigned_roles_json, max_validity_hours, created_at, expires_at) select d, '[\"role:client\"]', 168, '2020-01-01T00:00:00.000000Z', '2099-01-01T00:00:00.000000Z' from unnest($1::text[]) d",
      [tokens.map((token) => sha256Hex(token))],
    )
  })
}

/** Nonces of the next hour: the table of a network with many active nodes. */
export async function seedNonces(url: string, count: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      "insert into nonces (claim, expires_at) select decode(md5(n::text), 'hex'), '2099-01-01T00:00:00.000000Z' from generate_series(1, $1::int) n on conflict do nothing",
      [count],
    )
    await client.query('analyze nonces')
  })
}
