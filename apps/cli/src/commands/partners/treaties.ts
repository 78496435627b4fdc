import { asJson } from '@chancery/protocol'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'
import { readAll } from '../../connection/read-all.ts'

/** Runs `partner treaties`: what the partner reports. */
export async function runPartnerTreaties(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const limit = wholeNumberOrDefault(options, 'limit', 1, 1000)
  if (options.isSet('all') && options.isSet('limit')) throw usageError('Give --all or --limit, not both.')
  const sovereign = args.required('sovereign')
  const connection = await connectAsOperator(context, options)
  const most = options.isSet('all') ? Number.POSITIVE_INFINITY : limit
  const { rows, isCut } = await connection.ask((client) =>
    readAll(most, async (size, cursor) => {
      const query = { limit: size, ...(cursor === undefined ? {} : { cursor }) }
      const page = await client.partners.treaties(sovereign, query)
      return { rows: page.treaties, next: page.next_cursor }
    }),
  )
  const data = asJson({ count: rows.length, treaties: rows })
  if (rows.length === 0) return { data, text: 'It reports no treaty.', ids: [] }
  const lines = rows.map(({ treaty, as_of }) => [
    treaty.treaty_id,
    `${treaty.issuer_sovereign_id} ──▶ ${treaty.subject_sovereign_id}`,
    treaty.scope.allowed_roles.join(',') || '-',
    treaty.expires_at,
    as_of ?? '-',
  ])
  const number = `${rows.length} reported treat${rows.length === 1 ? 'y' : 'ies'}, which decide nothing here.`
  const head = ['TREATY', 'RECOGNISES', 'ROLES', 'UNTIL', 'AS OF']
  const more = isCut ? '\nThere are more. Add --all or --limit.' : ''
  return {
    data,
    ids: rows.map(({ treaty }) => treaty.treaty_id),
    text: `${table(head, lines, context.style)}\n\n${number}${more}`,
  }
}
