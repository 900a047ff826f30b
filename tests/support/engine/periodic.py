"""Periodic work that ended by a defect."""


class BrokenTask:
    """Stands where a queue keeps the task of its periodic work."""

    joined = 0

    def done(self):
        return True

    async def join(self):
        self.joined += 1
        raise ZeroDivisionError("a defect")
