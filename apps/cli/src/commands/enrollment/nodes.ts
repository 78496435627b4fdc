import { visible } from '@chancery/protocol'
import type { Roster } from '@chancery/sdk'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { Style } from '../../output/style.ts'
import { table } from '../../output/table.ts'

/** Runs `nodes`: the number of active nodes; with --roster the list. */
export async function runNodes(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  if (options.isSet('roster')) {
    const connection = await connectAsOperator(context, options)
    const roster = await connection.ask((client) => client.enrollment.roster())
    return {
      data: { count: roster.count, nodes: roster.nodes },
      ids: Object.keys(roster.nodes),
      text: describe(roster, context.style),
    }
  }
  const connection = await connect(context, options)
  const { count } = await connection.ask((client) => client.enrollment.nodes())
  return { data: { count }, text: countText(count) }
}

function describe({ count, nodes }: Roster, style: Style): string {
  if (count === 0) return countText(count)
  const rows = Object.entries(nodes).map(([certId, node]) => [
    certId,
    node.status,
    visible(node.label ?? '-'),
    node.last_heartbeat,
    node.roles.join(','),
    node.expires_at,
    node.remote_addr,
    node.node_public_key,
  ])
  const head = ['CERTIFICATE', 'STATUS', 'LABEL', 'LAST HEARTBEAT', 'ROLES', 'EXPIRES', 'ADDRESS', 'NODE KEY']
  return `${table(head, rows, style)}\n\n${countText(count)}`
}

function countText(count: number): string {
  return `${count} active node${count === 1 ? '' : 's'}.`
}
