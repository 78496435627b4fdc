import type { Context, Prompts } from './context.ts'
import { Failure } from './failure.ts'

/** Questions on standard error, so that standard output holds the result alone. Loaded only when one is asked. */
export function terminalPrompts(context: Pick<Context, 'stdin' | 'stderr'>): Prompts {
  const streams = { input: context.stdin, output: context.stderr }
  return {
    confirm: async (message) => {
      const { confirm, isCancel } = await import('@clack/prompts')
      // "No" is preselected: a habitual Enter must not revoke anything.
      const answer = await confirm({ message, initialValue: false, ...streams })
      if (isCancel(answer)) throw left()
      return answer
    },
    text: async (message, initial, check) => {
      const { isCancel, text } = await import('@clack/prompts')
      const validate = (value: string | undefined): string | undefined =>
        check(value === undefined || value === '' ? initial : value)
      const answer = await text({ message, placeholder: initial, defaultValue: initial, validate, ...streams })
      if (isCancel(answer)) throw left()
      return answer
    },
    secret: async (message) => {
      const { isCancel, password } = await import('@clack/prompts')
      const answer = await password({ message, ...streams })
      if (isCancel(answer)) throw left()
      return answer
    },
  }
}

function left(): Failure {
  return new Failure({ code: 'cancelled', message: 'Cancelled; nothing was changed.' })
}
