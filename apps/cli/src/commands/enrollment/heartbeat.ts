import { RefusedError } from '@chancery/sdk'
import type { HeartbeatResponse } from '@chancery/sdk/authority'
import type { Followed } from '@chancery/sdk/internal'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { type NodeConnection, connectAsNode, loadCertificate } from '../../connection/node-folder.ts'
import type { Options } from '../../arguments/options.ts'

/** `node run --once`: sends one heartbeat, and follows a key succession. */
export async function sendHeartbeat(context: CommandContext, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const { cert_id } = await loadCertificate(connection.files)
  const status = options.textOrDefault('status')
  const { answer, outcome } = await beat(connection, { cert_id, status })
  const rows = fields(
    [
      ['certificate', cert_id],
      ['time there', answer.server_time],
      ['next within', answer.next_heartbeat_seconds === undefined ? '-' : `${answer.next_heartbeat_seconds} s`],
      ['list', answer.crl_sequence === undefined ? '-' : String(answer.crl_sequence)],
      ['policy', answer.policy_id ?? '-'],
      ...(outcome === 'unchanged' ? [] : [['genesis block', describe(outcome, connection)] as const]),
    ],
    context.style,
  )
  const data = { cert_id, ack: true, ...toJson(answer), genesis_block: outcome }
  return { data, text: `${context.style.good('Acknowledged')} by ${connection.url}.\n${rows}` }
}

/**
 * Sends one heartbeat with the digest of the held block, and takes up a newer one that the root signed. After the switch to
 * the next key the authority refuses proofs for the former one: then the block is fetched first.
 */
async function beat(
  connection: NodeConnection,
  request: { readonly cert_id: string; readonly status: string },
): Promise<{ readonly answer: HeartbeatResponse; readonly outcome: Followed }> {
  const { followed } = connection
  const send = (): Promise<HeartbeatResponse> =>
    connection.ask((client) => client.enrollment.heartbeat({ ...request, genesis_digest: followed.digest }))
  const follow = (): Promise<Followed> => connection.ask((client) => followed.follow(client))
  try {
    const answer = await send()
    const isNewer = answer.genesis_digest !== undefined && answer.genesis_digest !== followed.digest
    return { answer, outcome: isNewer ? await follow() : 'unchanged' }
  } catch (error) {
    if (!(error instanceof RefusedError) || error.status !== 401) throw error
    const outcome = await follow().catch(() => 'unchanged' as const)
    if (outcome !== 'changed') throw error
    return { answer: await send(), outcome }
  }
}

function describe(outcome: Followed, { followed }: NodeConnection): string {
  if (outcome === 'changed') return `took up a newer one, digest ${followed.digest}`
  return `refused the one that the authority offers: ${outcome}`
}

function toJson({ server_time, next_heartbeat_seconds, crl_sequence, policy_id }: HeartbeatResponse): {
  readonly [name: string]: string | number | null
} {
  return {
    server_time,
    next_heartbeat_seconds: next_heartbeat_seconds ?? null,
    crl_sequence: crl_sequence ?? null,
    policy_id: policy_id ?? null,
  }
}
