import { answerCalls, stepBack } from '@chancery/service-kit'
import { hasForm, kindOfBody } from './json-checks.ts'
import type { AnswerForm, BodyKind } from './json-checks.ts'

// Megabytes of JSON of others are read here, so that no request waits for it.
stepBack()
answerCalls({
  kindOfBody: (bytes: Uint8Array): BodyKind => kindOfBody(bytes),
  hasForm: ({ bytes, form }: { bytes: Uint8Array; form: AnswerForm }): boolean => hasForm(bytes, form),
})
