import { answerCalls, stepBack } from '@chancery/service-kit'
import { judgeList } from './list-work.ts'
import type { ListTask } from './list-work.ts'

// Lists of a hundred thousand revocations take a while to read, to verify and to index; nobody else waits for it here.
stepBack()
answerCalls({ judge: (task: ListTask) => judgeList(task) })
