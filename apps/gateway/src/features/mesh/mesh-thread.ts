import { answerCalls, stepBack } from '@chancery/service-kit'
import { Gathering } from './gather.ts'
import type { PageTask, SingleDocuments } from './gather.ts'
import type { Facts } from './project.ts'

// Megabytes of records of others are read and verified here, so that no request waits for it. What a network brings
// stays here until it is whole; only what is shown goes back.
const gatherings = new Map<number, Gathering>()

function found(id: number): Gathering {
  const gathering = gatherings.get(id)
  if (gathering === undefined) throw new Error('there is no such gathering')
  return gathering
}

stepBack()
answerCalls({
  begin: ({ id, facts }: { id: number; facts: Facts }) => void gatherings.set(id, new Gathering(facts)),
  page: ({ id, task }: { id: number; task: PageTask }) => found(id).add(task),
  singles: ({ id, documents }: { id: number; documents: SingleDocuments }) => found(id).readSingles(documents),
  links: (id: number) => found(id).takeLinks(),
  members: (id: number) => found(id).takeMembers(),
  end: (id: number) => void gatherings.delete(id),
})
