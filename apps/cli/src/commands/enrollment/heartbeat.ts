import type { HeartbeatResponse } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { connectAsNode, loadCertificate } from '../../connection/node-folder.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fields } from '../../output/table.ts'

/** Runs `heartbeat`: sends one heartbeat. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsNode(context, options)
  const { cert_id } = await loadCertificate(connection.files)
  const status = options.textOrDefault('status')
  const answer = await connection.ask((client) => client.enrollment.heartbeat({ cert_id, status }))
  const rows = fields(
    [
      ['certificate', cert_id],
      ['time there', answer.server_time],
      ['next within', answer.next_heartbeat_seconds === undefined ? '-' : `${answer.next_heartbeat_seconds} s`],
      ['list', answer.crl_sequence === undefined ? '-' : String(answer.crl_sequence)],
      ['policy', answer.policy_id ?? '-'],
    ],
    context.style,
  )
  const data = { cert_id, ack: true, ...toJson(answer) }
  return { data, text: `${context.style.good('Acknowledged')} by ${connection.url}.\n${rows}` }
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
