import { type JsonObject, type RecognitionTreaty, treatyCapabilities, visible } from '@chancery/protocol'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { type Preview, previewThenConfirm } from '../../prompts/preview.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { describeTreaty } from './describe.ts'
import { previewLines } from './preview.ts'
import { readCapabilities, readStatuses } from './scope.ts'
import { type Terms, findPredecessor, sameAs, succeed } from './succession.ts'

/** Runs `treaty replace`: new terms for the same network; the preview shows what they remove. */
export async function runTreatyReplace(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const keys = await loadPublicKeys(context.cwd, options, 'key')
  const [roles, statuses] = [options.list('role'), readStatuses(options)]
  const capabilities = readCapabilities(options)
  const hours = wholeNumber(options, 'validity-hours', 1, 26_280)
  const isSameScope = roles.length === 0 && statuses === undefined && capabilities === undefined
  if (keys === undefined && isSameScope && hours === undefined)
    throw usageError('Nothing would differ.', 'Give new terms, or use: chancery treaty renew')
  const connection = await connectAsOperator(context, options)
  const { treaty: old } = await findPredecessor(connection, args.required('id'))
  const same = sameAs(old, hours)
  const request = {
    ...same,
    subject_public_keys: keys ?? same.subject_public_keys,
    scope: {
      ...same.scope,
      ...(roles.length === 0 ? {} : { allowed_roles: roles }),
      ...(statuses === undefined ? {} : { accepted_statuses: statuses }),
      ...(capabilities === undefined ? {} : { claims: { ...same.scope.claims, capabilities } }),
    },
  }
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: () => previewReplacement(connection, old, request),
    question: `Replace treaty ${visible(old.treaty_id)} with ${visible(old.subject_sovereign_id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const treaty = await succeed(connection, old, request, 'replaced_by')
  const text = `${style.good('Replaced')} treaty ${visible(old.treaty_id)} by:\n${describeTreaty(treaty, style)}`
  return { data: { replaced: old.treaty_id, treaty, forecast: preview.data }, ids: [treaty.treaty_id], text }
}

/** Removes from the preview of the authority what the new treaty still covers. */
async function previewReplacement(connection: Connection, old: RecognitionTreaty, request: Terms): Promise<Preview> {
  const { treaty_id: id } = old
  const data = await connection.ask((client) => client.recognitionTreaties.revoke(id, { dry_run: true }))
  const lost = {
    roles: missing(old.scope.allowed_roles, request.scope.allowed_roles ?? []),
    statuses: missing(old.scope.accepted_statuses, request.scope.accepted_statuses ?? []),
    capabilities: missing(patternsOf(old.scope.claims), patternsOf(request.scope.claims)),
    keys: missing(old.subject_public_keys, request.subject_public_keys),
  }
  const lines = [
    'Ending the old treaty alone would mean:',
    ...previewLines(data).map((line) => `  ${line}`),
    'The new treaty is issued first and replaces this one. No longer accepted:',
    ...Object.entries(lost).map(
      ([name, gone]) => `  ${name}: ${gone.length === 0 ? '-' : gone.map((each) => visible(each)).join(', ')}`,
    ),
  ]
  return { data: { ...data, no_longer_accepted: lost }, lines }
}

function patternsOf(claims: JsonObject = {}): readonly string[] {
  return treatyCapabilities({ claims }) ?? []
}

function missing(before: readonly string[], after: readonly string[]): readonly string[] {
  return before.filter((each) => !after.includes(each))
}
