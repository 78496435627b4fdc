import type { Prompts, Surroundings } from './context.ts'
import { Failure } from './failure.ts'

/** Questions on standard error, so that standard output holds the result alone. Loaded only when one is asked. */
export function terminalPrompts(context: Pick<Surroundings, 'stdin' | 'stderr'>): Prompts {
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

type Ask<Answer> = (streams: Streams) => Promise<Answer>

interface Streams {
  readonly input: Surroundings['stdin']
  readonly output: Surroundings['stderr']
  readonly signal: AbortSignal
}

/** Ends with the question, with Ctrl-C, with Ctrl-D and with the input: the library itself would wait on after the last two. */
async function askOn<Answer>(
  { stdin, stderr }: Pick<Surroundings, 'stdin' | 'stderr'>,
  work: Ask<Answer>,
): Promise<Exclude<Answer, symbol>> {
  const leaving = new AbortController()
  const leave = (): void => leaving.abort()
  const onKey = (_text: unknown, key: { readonly ctrl?: boolean; readonly name?: string } | undefined): void => {
    if (key?.ctrl === true && key.name === 'd') leave()
  }
  stdin.on('keypress', onKey).once('end', leave).once('close', leave)
  try {
    const answer = await work({ input: stdin, output: stderr, signal: leaving.signal })
    if (typeof answer === 'symbol') throw left()
    return answer as Exclude<Answer, symbol>
  } finally {
    stdin.off('keypress', onKey).off('end', leave).off('close', leave)
  }
}

function left(): Failure {
  return new Failure({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
}
