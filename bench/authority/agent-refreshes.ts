import { sign } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalBytes, writeInstant, writeSortable } from '@chancery/protocol'
import type { BenchOptions } from '../lib/bench.ts'
import { CONNECTIONS, HOST } from '../lib/conditions.ts'
import type { LoadGenerator } from '../lib/load.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import type { BatchStatement } from '../lib/raw-inserts.ts'
import { round } from '../lib/statistics.ts'
import { type BenchNode, makeNodes, seedCertificates } from '../lib/test-nodes.ts'
import { measureOtherLoad, NETWORK, type Registry } from './agent-registry.ts'

const NODES = 5000

/** Measures refreshes of agents with unchanged tags, by nodes with real keys among all other nodes. */
export async function measureRefreshes(
  generator: LoadGenerator,
  registry: Registry,
  options: BenchOptions,
): Promise<Awaited<ReturnType<typeof measureAgainstLimit>> & { readonly foreign_cores: number }> {
  const { database, processes } = registry
  const nodes = makeNodes(NODES)
  await seedCertificates(database.url, nodes, NODES)
  let at = 0
  const bodies = async (count: number): Promise<string[]> =>
    Array.from({ length: count }, () => {
      const node = nodes[(at += 1) % nodes.length]
      return node === undefined ? '' : descriptor(node, at % nodes.length)
    })
  const file = join(options.directory, 'first.txt')
  await writeFile(file, (await bodies(NODES)).join('\n'))
  const [first, ...more] = processes.map((server) => server.port)
  const plan = { kind: 'bodies' as const, path: '/agents', file }
  const target = { host: HOST, port: first ?? 0, morePorts: more }
  await generator.run({ plan, ...target, connections: CONNECTIONS, seconds: 60, maxRequests: NODES })
  const others = measureOtherLoad(generator, registry)
  others.start()
  const figures = await measureAgainstLimit(
    {
      path: '/agents',
      bodies,
      database,
      processes,
      statement: refreshRows(nodes),
      batch: 200,
      verifications: 1,
      signatures: 0,
      perSecond: 9000,
    },
    options,
  )
  return { ...figures, foreign_cores: round(others.cores(), 2) }
}

function tagsOf(index: number): readonly string[] {
  return [
    `middling:${index % 100}`,
    `popular:${index % 7}`,
    `rare:${index}`,
    `skill:${index}`,
    `uncommon:${index % 1000}`,
  ]
}

const LIFETIME_MICROSECONDS = 600_000_000n

function descriptor(node: BenchNode, index: number): string {
  const now = BigInt(Date.now()) * 1000n
  const facts = {
    agent_id: `bench-${index}`,
    node_public_key: node.publicKey,
    network_name: NETWORK,
    capabilities: tagsOf(index),
    endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
    registered_at: writeInstant(now),
    expires_at: writeInstant(now + LIFETIME_MICROSECONDS),
    metadata: { model: 'm-1' },
  }
  const sig = sign(null, canonicalBytes(facts), node.key).toString('base64')
  return JSON.stringify({ ...facts, signatures: [{ key_id: node.publicKey, sig }] })
}

/** P: the rows of a refresh, written in batches without a read. */
function refreshRows(nodes: readonly BenchNode[]): BatchStatement {
  const rows = nodes.map((node, index) => ({ node, index, json: descriptor(node, index) }))
  let at = 0
  return (count) => {
    const batch = Array.from({ length: count }, () => rows[(at += 1) % rows.length]).filter((row) => row !== undefined)
    const now = BigInt(Date.now()) * 1000n
    return {
      name: 'bare-refresh',
      text:
        'insert into agent_registrations (node_public_key, agent_id, descriptor_json, capabilities_json, registered_at, expires_at, listed) ' +
        'select *, $5, $6, 1 from unnest($1::text[], $2::text[], $3::text[], $4::text[]) ' +
        'on conflict (node_public_key) do update set agent_id = excluded.agent_id, descriptor_json = excluded.descriptor_json, ' +
        'capabilities_json = excluded.capabilities_json, registered_at = excluded.registered_at, expires_at = excluded.expires_at, listed = 1',
      values: [
        batch.map(({ node }) => node.publicKey),
        batch.map(({ index }) => `bench-${index}`),
        batch.map(({ json }) => json),
        batch.map(({ index }) => JSON.stringify(tagsOf(index))),
        writeSortable(now),
        writeSortable(now + LIFETIME_MICROSECONDS),
      ],
    }
  }
}
