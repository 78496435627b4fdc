import { genesisDigest } from '@chancery/protocol'
import { listLacking } from '../features/key-succession/index.ts'
import type { OpenSuccession } from './key-succession.ts'

/** Names of each kind that are printed. */
const NAMED = 10

export interface Followers {
  readonly lines: readonly string[]
  readonly areAll: boolean
  /** Every instance has the next key. Nothing replaces this. */
  readonly canSwitch: boolean
}

/** Who follows an announced key, as far as the authority sees it, and who does not. */
export async function describeFollowers({ core, keySuccession }: OpenSuccession): Promise<Followers> {
  const db = core.database.read
  const digest = genesisDigest(core.network.genesis)
  const instances = await keySuccession.listInstances()
  const without = instances.filter(({ next_block }) => next_block !== digest).map(({ instance }) => instance)
  const { nodes, nodes_with_new_block, switch_by } = await keySuccession.describeSuccession()
  const lacking = await listLacking(db, digest, core.clock.now(), NAMED)
  const partners = await db.selectFrom('partners').select('sovereign_id').orderBy('sovereign_id').limit(NAMED).execute()
  return {
    lines: [
      `instances  ${instances.length - without.length} of ${instances.length} have the key${named(without)}`,
      `nodes      ${nodes_with_new_block} of ${nodes} with a heartbeat within a day${named(lacking)}`,
      'gateways   follow by themselves, and do not report here: GET /v1/networks of each says which keys it has',
      `partners   follow with their next pull; treaties that name the key need its operator${named(partners.map((row) => row.sovereign_id))}`,
      ...(switch_by === null ? [] : [`deadline   ${switch_by}: then followers refuse the present key`]),
    ],
    areAll: nodes_with_new_block >= nodes,
    canSwitch: without.length === 0,
  }
}

function named(names: readonly string[]): string {
  if (names.length === 0) return ''
  return `: ${names.slice(0, NAMED).join(', ')}${names.length >= NAMED ? ', …' : ''}`
}
