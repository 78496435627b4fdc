import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { describeTreaty } from './describe.ts'
import { readCapabilities, readStatuses } from './scope.ts'

/** Runs `treaty issue` with keys that the operator has checked; federation bootstrap checks them itself. */
export async function runTreatyIssue(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const [roles, statuses] = [options.list('role'), readStatuses(options)]
  const capabilities = readCapabilities(options)
  const request = {
    subject_sovereign_id: args.required('sovereign'),
    subject_public_keys: (await loadPublicKeys(context.cwd, options, 'key')) ?? [],
    scope: {
      allowed_roles: roles,
      ...(statuses === undefined ? {} : { accepted_statuses: statuses }),
      ...(capabilities === undefined ? {} : { claims: { capabilities } }),
    },
    validity_hours: wholeNumberOrDefault(options, 'validity-hours', 1, 26_280),
    metadata: readPairs(options, 'metadata'),
  }
  if (roles.length === 0) context.note('without --role no member of the network is accepted')
  const connection = await connectAsOperator(context, options)
  const treaty = await connection.ask((client) => client.recognitionTreaties.issue(request))
  return { data: treaty, ids: [treaty.treaty_id], text: `${style.good('Issued:')}\n${describeTreaty(treaty, style)}` }
}
