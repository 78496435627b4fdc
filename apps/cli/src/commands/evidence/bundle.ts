import { resolve } from 'node:path'
import { asJson } from '@chancery/protocol'
import { BUNDLE_FORMS, type BundleForm, checkDecisionBundle, writeDecisionBundle } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { FOLLOW_HINT, connectAsOperator, genesisWord } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import type { Result } from '../../output/result.ts'

/** Runs `evidence bundle`: verifies the envelope with the configured genesis block before it is written. */
export async function runEvidenceBundle(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const form = bundleForm(options)
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const { genesis, followed, url } = connection
  const { envelope } = await connection.ask((client) => client.evidence.bundle({ decision_id: id }))
  // Without a configured genesis block nothing can be compared, and the connection says so.
  const keys = followed?.keys ?? (genesis === undefined ? undefined : { genesis })
  const verdict = keys === undefined ? undefined : await checkDecisionBundle(envelope, keys)
  const problem = verdict?.ok === false ? verdict.reason : undefined
  const isOther = verdict?.ok === true && verdict.decision.decision_id !== id
  if (problem !== undefined || isOther)
    throw new CommandError({
      code: 'invalid_decision_bundle',
      message: `The bundle of ${url} does not verify: ${problem ?? 'it is of another decision'}. Nothing was written.`,
      hint: `This is another network, or a record was changed. ${FOLLOW_HINT}`,
    })
  const text = writeDecisionBundle(envelope, form)
  if (file === undefined) return { data: asJson({ decision_id: id, form, envelope }), ids: [id], text: text.trimEnd() }
  await writeNewFile(file, text, FOR_ALL)
  const name = typed(context.cwd, file)
  return {
    data: { decision_id: id, form, file: name },
    ids: [id],
    text: [
      `${context.style.good('Written:')} ${name}.`,
      `A reader runs: chancery verify bundle ${name} --genesis ${genesisWord(context.cwd, connection)}`,
    ].join('\n'),
  }
}

function bundleForm(options: Options): BundleForm {
  const given = options.textOrDefault('form')
  const form = BUNDLE_FORMS.find((each) => each === given)
  if (form === undefined) throw usageError(`--form: use one of ${BUNDLE_FORMS.join(', ')}.`)
  return form
}
