import { serveCalls, lowerThreadPriority } from '@chancery/service-kit/threads'
import { type BodyKind, type ResponseForm, hasForm, kindOfBody } from './json-checks.ts'

// Reads megabytes of JSON, so that no request waits for it.
lowerThreadPriority()
serveCalls({
  kindOfBody: (bytes: Uint8Array): BodyKind => kindOfBody(bytes),
  hasForm: ({ bytes, form }: { bytes: Uint8Array; form: ResponseForm }): boolean => hasForm(bytes, form),
})
