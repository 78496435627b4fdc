import { sign } from 'node:crypto'
import { canonicalBytes, HOUR, writeInstant, writeSortable } from '@chancery/protocol'
import { HOST } from '../lib/conditions.ts'
import { type Database, onDatabase } from '../lib/databases.ts'
import type { BenchNetwork } from '../lib/network.ts'
import type { BenchOperator } from '../lib/operator.ts'
import { type BenchNode, makeNodes, proof } from '../lib/test-nodes.ts'

/** More than a page of each list: the lists then begin with signed records. */
const NODES = 240
/** The first ones are silent for longer than the inserted nodes, so the list of nodes begins with them. */
const SILENT = 120

/** Nodes that join through the routes of the authority and register an agent: their records verify in the browser. */
export async function joinNodes(
  port: number,
  network: BenchNetwork,
  database: Database,
  operator: BenchOperator,
): Promise<void> {
  const nodes = makeNodes(NODES)
  for (const [index, node] of nodes.entries()) {
    const label = `Quay ${String(index).padStart(3, '0')}`
    const { token_id = '' } = await operator.post('/admin/invite', { roles: ['role:client'], label })
    await send(port, '/join', proof({ invite_token: token_id, validity_hours: 24 }, node))
    await send(port, '/agents', descriptor(node, index, network))
  }
  const before = writeSortable(BigInt(Date.now()) * 1000n - 2n * HOUR)
  const keys = nodes.slice(0, SILENT).map(({ publicKey }) => `'${publicKey}'`)
  await onDatabase(database, (execute) =>
    execute(
      `update node_liveness set last_heartbeat = '${before}', silent_since = '${before}' where node_public_key in (${keys.join(', ')})`,
    ),
  )
}

function descriptor(node: BenchNode, index: number, { name }: BenchNetwork): string {
  const now = BigInt(Date.now()) * 1000n
  const facts = {
    agent_id: `quay-${index}`,
    node_public_key: node.publicKey,
    network_name: name,
    capabilities: ['payments.read', `berth:${index % 7}`],
    endpoint: { host: `quay-${index}.example.org`, port: 7448, scheme: 'wss' },
    registered_at: writeInstant(now),
    expires_at: writeInstant(now + 12n * HOUR),
    metadata: {},
  }
  const sig = sign(null, canonicalBytes(facts), node.key).toString('base64')
  return JSON.stringify({ ...facts, signatures: [{ key_id: node.publicKey, sig }] })
}

async function send(port: number, path: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`http://${HOST}:${port}${path}`, { method: 'POST', headers, body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${text}`)
}
