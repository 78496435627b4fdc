import { resolve } from 'node:path'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Result } from '../../output/result.ts'
import { fields } from '../../output/table.ts'

const MAX_CHARACTERS = 8192

/** Runs `admission test`. The token is sent to the authority, which stores nothing of it. */
export async function runAdmissionTest(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const token = await readToken(context, options)
  const key = options.text('node-key')
  const node_public_key = key === undefined ? undefined : await loadPublicKey(context.cwd, 'node-key', key)
  const connection = await connectAsOperator(context, options)
  const evidence = { token, ...(node_public_key === undefined ? {} : { node_public_key }) }
  const verdict = await connection.ask((client) => client.admission.test(args.required('rule_id'), evidence))
  const rows = fields(
    [
      ['rule', verdict.rule_id],
      ['subject', verdict.evidence_subject ?? '-'],
      ['reason', verdict.reason ?? '-'],
      ['digest', verdict.evidence_digest],
    ],
    context.style,
  )
  const title = verdict.admitted
    ? context.style.good('The rule admits this token.')
    : 'The rule does not admit this token.'
  return { data: verdict, text: `${title}\n${rows}`, exitCode: verdict.admitted ? 0 : 1 }
}

/** The text is never repeated in an error: it is a secret. */
async function readToken(context: CommandContext, options: Options): Promise<string> {
  const file = options.text('token-file')
  let text = ''
  if (file !== undefined) text = await readText(resolve(context.cwd, file))
  else
    for await (const chunk of context.stdin) {
      text += String(chunk)
      if (text.length > MAX_CHARACTERS) break
    }
  const token = text.trim()
  if (token === '' || token.length > MAX_CHARACTERS || /\s/.test(token))
    throw usageError('No token was given.', 'Give --token-file <file>, or write the token to standard input.')
  return token
}
