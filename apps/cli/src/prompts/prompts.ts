import type { Prompts, ProcessContext } from '../context.ts'
import { CommandError } from '../errors/failure.ts'
import { toScreen } from '../output/screen.ts'

/** Asks on standard error, so that standard output has only the result. The library is loaded on first use. */
export function terminalPrompts(context: Pick<ProcessContext, 'stdin' | 'stderr'>): Prompts {
  const ask = <Answer>(work: Ask<Answer>): Promise<Exclude<Answer, symbol>> => askOn(context, work)
  return {
    confirm: async (message) => {
      const { confirm } = await import('@clack/prompts')
      // "No" is preselected: a habitual Enter must not revoke anything.
      return ask((streams) => confirm({ message, initialValue: false, ...streams }))
    },
    text: async (message, initial, check) => {
      const { text } = await import('@clack/prompts')
      const validate = (value: string | undefined): string | undefined =>
        check(value === undefined || value === '' ? initial : value)
      return ask((streams) => text({ message, placeholder: initial, defaultValue: initial, validate, ...streams }))
    },
    secret: async (message) => {
      const { password } = await import('@clack/prompts')
      return ask((streams) => password({ message, ...streams }))
    },
  }
}

/** Returns prompts whose texts pass {@link toScreen}, because another library draws them. */
export function screenedPrompts(prompts: Prompts): Prompts {
  return {
    confirm: (question) => prompts.confirm(toScreen(question)),
    secret: (question) => prompts.secret(toScreen(question)),
    text: (question, initial, check) =>
      prompts.text(toScreen(question), initial, (answer) => {
        const problem = check(answer)
        return problem === undefined ? undefined : toScreen(problem)
      }),
  }
}

type Ask<Answer> = (streams: Streams) => Promise<Answer>

interface Streams {
  readonly input: ProcessContext['stdin']
  readonly output: ProcessContext['stderr']
  readonly signal: AbortSignal
}

/** Ends on Ctrl-C, on Ctrl-D and at the end of the input. The library would continue to wait after the last two. */
async function askOn<Answer>(
  { stdin, stderr }: Pick<ProcessContext, 'stdin' | 'stderr'>,
  work: Ask<Answer>,
): Promise<Exclude<Answer, symbol>> {
  const cancel = new AbortController()
  const abort = (): void => cancel.abort()
  const onKey = (_text: unknown, key: { readonly ctrl?: boolean; readonly name?: string } | undefined): void => {
    if (key?.ctrl === true && key.name === 'd') abort()
  }
  stdin.on('keypress', onKey).once('end', abort).once('close', abort)
  try {
    const answer = await work({ input: stdin, output: stderr, signal: cancel.signal })
    if (typeof answer === 'symbol') throw cancelled()
    return answer as Exclude<Answer, symbol>
  } finally {
    stdin.off('keypress', onKey).off('end', abort).off('close', abort)
  }
}

function cancelled(): CommandError {
  return new CommandError({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
}
