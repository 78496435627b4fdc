import { Transfer, serveCalls } from '@chancery/service-kit/threads'
import { ListStates } from './list-states.ts'

type Given<Name extends keyof ListStates> = Parameters<ListStates[Name]>[0]

/** Builds large lists, so that the event loop of the authority does not wait for it. */
const states = new ListStates()

serveCalls({
  open: (given: Given<'open'>) => states.open(given),
  addStored: (given: Given<'addStored'>) => states.addStored(given),
  addTexts: (given: Given<'addTexts'>) => states.addTexts(given),
  verify: (given: Given<'verify'>) => states.verify(given),
  finish: (given: Given<'finish'>) => {
    const list = states.finish(given)
    return new Transfer(list, [list.bytes.buffer, ...list.changed.map(({ body }) => body.buffer)])
  },
  seal: (given: Given<'seal'>) => states.seal(given),
  keep: (given: Given<'keep'>) => states.keep(given),
  discard: (given: Given<'discard'>) => states.discard(given),
})
