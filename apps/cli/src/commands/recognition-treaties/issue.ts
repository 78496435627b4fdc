import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { wholeNumberOrDefault } from '../../numbers.ts'
import type { Arguments, Options } from '../../options.ts'
import { readPairs } from '../../pairs.ts'
import { loadPublicKeys } from '../../public-keys.ts'
import { describeTreaty } from './describe.ts'
import { readStatuses } from './scope.ts'

/** treaty issue: for keys somebody has checked already; federation bootstrap checks them itself. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const [roles, statuses] = [options.list('role'), readStatuses(options)]
  const request = {
    subject_sovereign_id: args.required('sovereign'),
    subject_public_keys: (await loadPublicKeys(context.cwd, options, 'key')) ?? [],
    scope: { allowed_roles: roles, ...(statuses === undefined ? {} : { accepted_statuses: statuses }) },
    validity_hours: wholeNumberOrDefault(options, 'validity-hours', 1, 26_280),
    metadata: readPairs(options, 'metadata'),
  }
  if (roles.length === 0) context.note('without --role no member is accepted: the treaty only names the sovereign')
  const connection = await connectAsOperator(context, options)
  const treaty = await connection.ask((client) => client.recognitionTreaties.issue(request))
  return { data: treaty, text: `${style.good('Issued:')}\n${describeTreaty(treaty, style)}` }
}
