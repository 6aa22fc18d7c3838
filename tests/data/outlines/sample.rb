module Shop
  # A cart.
  class Big::Cart < Base
    LIMIT = 1
    attr_accessor :count, :size
    def initialize; end
    def self.make; end

    # Doc.
    def empty?(a) = a
    class << self
      def build; end
    end
    alias blank? empty?
    define_method(:dynamic) { }
    private def größe; end
  end
  class Plain; end
end
module Deep::Nested; end
describe "a cart" do
end
