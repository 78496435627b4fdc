import type { PolicyVersion } from '@chancery/sdk'
import { type Connection, connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'
import { checkSignature } from './check-signature.ts'
import { describePolicy } from './describe.ts'

/** Runs `network-policy show`: the active manifest, or with --history every stored version. */
export async function runNetworkPolicyShow(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  if (options.isSet('history')) return showHistory(context, await connectAsOperator(context, options))
  const connection = await connect(context, options)
  const policy = await connection.ask((client) => client.policy.current())
  const signature = await checkSignature(connection, policy)
  return { data: policy, text: describePolicy(policy, signature, context.style) }
}

async function showHistory({ style }: CommandContext, connection: Connection): Promise<Result> {
  const versions = await connection.ask(async (client) => {
    const all: PolicyVersion[] = []
    for (let cursor: string | undefined; ;) {
      const page = await client.policy.history(cursor === undefined ? {} : { cursor })
      all.push(...page.versions)
      // A cursor that does not move would cause an endless loop.
      if (page.next_cursor === null || page.next_cursor === undefined || page.next_cursor === cursor) return all
      cursor = page.next_cursor
    }
  })
  if (versions.length === 0) return { data: { versions: [] }, text: 'No policy version is stored yet.' }
  const rows = versions.map(({ active, policy_id, created_at, policy }) => [
    active ? 'active' : '',
    policy_id,
    created_at,
    policy.min_client_version,
    policy.allowed_ports.join(','),
  ])
  const text = table(['', 'POLICY ID', 'CREATED', 'MIN CLIENT', 'PORTS'], rows, style)
  return { data: { versions: versions.map((version) => ({ ...version })) }, text }
}
