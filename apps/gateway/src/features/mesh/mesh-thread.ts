import { serveCalls, lowerThreadPriority } from '@chancery/service-kit/threads'
import { NetworkCollector, type PageTask, type SingleDocuments } from './collect.ts'
import type { Facts } from './project.ts'

// Reads and verifies megabytes of records, so that no request waits for it. The records of a network stay in this
// thread until they are complete. Only the shown part goes back.
const collectors = new Map<number, NetworkCollector>()

function findCollector(id: number): NetworkCollector {
  const collector = collectors.get(id)
  if (collector === undefined) throw new Error('there is no such collection')
  return collector
}

lowerThreadPriority()
serveCalls({
  begin: ({ id, facts }: { id: number; facts: Facts }) => void collectors.set(id, new NetworkCollector(facts)),
  page: ({ id, task }: { id: number; task: PageTask }) => findCollector(id).add(task),
  singles: ({ id, documents }: { id: number; documents: SingleDocuments }) => findCollector(id).readSingles(documents),
  links: (id: number) => findCollector(id).readLinks(),
  members: (id: number) => findCollector(id).readMembers(),
  end: (id: number) => void collectors.delete(id),
})
